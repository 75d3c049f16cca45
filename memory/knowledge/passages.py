"""Passages from the blocks of a document, without Django: the reading process has no settings.

Paragraphs are joined up to ``LONGEST`` characters, about 375 tokens, which embedding models read as
a whole; longer ones are split at lines, else at sentences, else at words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple


class Block(NamedTuple):
    """A paragraph, list, table or heading.

    Attributes:
        text: Its text.
        level: Level of a heading, from 1, the outermost; 0 for other blocks.
        page: Number of its page, from 1; None if the format has no pages.
    """

    text: str
    level: int = 0
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """A part of a document, or all of it.

    Attributes:
        blocks: Its blocks in order.
        above: Headings before the part, in order; those that apply to it are found by level.
        pages: Number of pages of the whole document; None if the format has no pages.
        pages_read: Number of the last page that was read; 0 if the format has no pages.
        problem: Sentences about content that was guessed or could not be read; empty if all was
            read.
    """

    blocks: list[Block]
    above: list[Block] = field(default_factory=list)
    pages: int | None = None
    pages_read: int = 0
    problem: str = ""


class RefusedDocumentError(Exception):
    """The document cannot be read; the message is the end of a sentence about it."""


LONGEST: Final = 1_500
_MOST_OF_HEADING: Final = 200
# The last one of these within reach ends a piece.
_ENDS: Final = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"(?<=[.!?])\s", r"\s")))


class PassageText(NamedTuple):
    """A passage before it is stored; see ``memory.models.Passage``."""

    page: int | None
    headings: tuple[str, ...]
    text: str


def build_passages(reading: Extraction) -> list[PassageText]:
    """Return the passages of a part of a document, in order."""
    builder = _Builder()
    for heading in reading.above:
        builder.enter(heading)
    builder.is_empty = False
    for block in reading.blocks:
        builder.add(block)
    builder.close()
    return builder.passages


class _Builder:
    """Builds passages of one part.

    Attributes:
        passages: The finished ones.
        is_empty: True while nothing has followed the last heading.
    """

    def __init__(self) -> None:
        self.passages: list[PassageText] = []
        self.is_empty = False
        self._headings: list[tuple[int, str]] = []
        self._texts: list[str] = []
        self._length = 0
        self._page: int | None = None

    def add(self, block: Block) -> None:
        text = block.text.strip()
        if not text:
            return
        if block.level:
            self._finish()
            if self.is_empty and block.level <= self._headings[-1][0]:
                self._keep_heading()
            self.enter(block)
            self._page = block.page
            return
        if block.page != self._page:
            self._finish()
            self._page = block.page
        self.is_empty = False
        for piece in _pieces(text):
            if self._texts and self._length + len(piece) > LONGEST:
                self._finish()
            self._texts.append(piece)
            self._length += len(piece)

    def enter(self, heading: Block) -> None:
        """Put a heading below those of lower levels."""
        title = " ".join(heading.text.split())[:_MOST_OF_HEADING]
        self._headings = [one for one in self._headings if one[0] < heading.level]
        self._headings.append((heading.level, title))
        self.is_empty = True

    def close(self) -> None:
        self._finish()
        if self.is_empty:
            self._keep_heading()

    def _keep_heading(self) -> None:
        """Make a passage of a heading without content, which would not be found otherwise."""
        *above, last = self._titles()
        self.passages.append(PassageText(self._page, tuple(above), last))

    def _finish(self) -> None:
        if self._texts:
            text = "\n\n".join(self._texts)
            self.passages.append(PassageText(self._page, self._titles(), text))
        self._texts, self._length = [], 0

    def _titles(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._headings)


def _pieces(text: str) -> Iterator[str]:
    while len(text) > LONGEST:
        end = _end_of_piece(text)
        yield text[:end].strip()
        text = text[end:].strip()
    if text:
        yield text


def _end_of_piece(text: str) -> int:
    """Return the index at which to split, in the second half of the longest piece."""
    half = LONGEST // 2
    for pattern in _ENDS:
        ends = [found.start() for found in pattern.finditer(text, half, LONGEST)]
        if ends:
            return ends[-1]
    return LONGEST
