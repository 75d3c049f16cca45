"""Sections of the Rust original of Heartbit, and their replacements here.

They are accepted and change nothing, so that a file of the original can be used as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

REPLACED: Final = {
    "restate": (
        "[restate] changes nothing here: a journal in PostgreSQL and Celery workers "
        "(`heartbit serve`) make runs durable, without a Restate server; the section can go."
    )
}


def notes_on(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a sentence for each replaced section of a file's content."""
    return tuple(sentence for name, sentence in REPLACED.items() if name in content)
