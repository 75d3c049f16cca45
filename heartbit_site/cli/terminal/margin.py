"""Texts of others beside a margin.

No text of a model begins a line: it stands right of a margin, wrapped here and not by the terminal,
so that it cannot pretend to be Heartbit's own words.
"""

from __future__ import annotations

import shutil
from typing import Final

from rich.cells import cell_len

from heartbit_site.base import visible_text

MARGIN: Final = "  | "
NARROWEST: Final = 20
WIDEST: Final = 110


def text_width() -> int:
    """Return how wide a text is printed."""
    return min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)


def margined(text: str, width: int) -> list[str]:
    """Return the text's lines beside the margin, none wider than the terminal."""
    room = width - len(MARGIN) - 1
    return [MARGIN + piece for line in text.split("\n") for piece in wrap(line, room) or [""]]


def wrap(text: str, width: int) -> list[str]:
    """Return the text in pieces of at most `width` cells; white space is kept, for it is shown."""
    width = max(NARROWEST, width)
    pieces: list[str] = []
    piece, used = "", 0
    for letter in text:
        cells = cell_len(letter)
        if used + cells > width:
            pieces.append(piece)
            piece, used = "", 0
        piece += letter
        used += cells
    return [*pieces, piece] if piece else pieces


# What a page may keep, a single line may not; and a backslash must not look like an escape's.
_LINE: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": visible_text.json_escape("\t")})


def visible(text: str) -> str:
    r"""Return text on one line; characters without a shape as `\n`, `\u202e`; a `\` as `\\`."""
    return visible_text.visible(text.translate(_LINE))
