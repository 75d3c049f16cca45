"""Blocks that readers take from a document. Pure, without Django: its process has no settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


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
