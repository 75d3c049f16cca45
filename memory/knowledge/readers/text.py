"""Plain text: paragraphs without headings."""

from __future__ import annotations

import codecs
import re

from memory.knowledge.blocks import Block, Extraction

_PARAGRAPH_END = re.compile(r"\n\s*\n")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read(data: bytes, first: int) -> Extraction:
    """Read a text; ``first`` is 0, since it has no pages."""
    return Extraction([Block(part) for part in _PARAGRAPH_END.split(decode(data))])


def decode(data: bytes) -> str:
    """Return a text by its byte order mark, as UTF-8, or else as Windows-1252."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lines(data.decode(encoding, "replace"))
    try:
        return _lines(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _lines(data.decode("cp1252", "replace"))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
