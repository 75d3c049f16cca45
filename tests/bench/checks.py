"""What every way checks of a run."""

from __future__ import annotations


def check(text: str | None) -> None:
    """Raise an error if a run has no answer.

    Raises:
        RuntimeError: It has none.
    """
    if not text:
        raise RuntimeError("a run under measurement did not succeed: see the worker's log")
