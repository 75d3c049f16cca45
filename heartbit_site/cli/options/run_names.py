"""Runs as people name them: by an id, or by how it begins. No Django."""

from __future__ import annotations

from string import hexdigits
from typing import Final

from heartbit_site.base.errors import NotFoundError
from heartbit_site.cli.terminal.output import one_line

SHORT_ID: Final = 18  # characters of an id: its milliseconds and what distinguishes their runs


def run_id_of(text: str) -> str:
    """Return the id, or its beginning, that a text is.

    Raises:
        NotFoundError: The text is neither.
    """
    found = text.strip().lower()
    if not found or not set(found) <= set(f"{hexdigits}-"):
        raise NotFoundError(
            f"No run begins with {one_line(text, 60)}: `heartbit status` lists the last ones."
        )
    return found
