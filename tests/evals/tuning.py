"""Search of knowledge bases on the questions that are there to tune it: not played by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.evals import knowledge

if TYPE_CHECKING:
    from collections.abc import Iterator


def measure() -> Iterator[dict[str, Any]]:
    """Return the rows of ``tests.evals.knowledge`` for the training part."""
    return knowledge.measure(held_out=False)
