"""Plain text: paragraphs without headings."""

from __future__ import annotations

import re

from heartbit_site.base.charsets import DecodedText, decode_text
from memory.knowledge.passages import Block, Extraction

_PARAGRAPH_END = re.compile(r"\n\s*\n")


def read(data: bytes, first: int) -> Extraction:
    """Read a text; ``first`` is 0, since it has no pages."""
    text, problem = decode_lines(data)
    return Extraction([Block(part) for part in _PARAGRAPH_END.split(text)], problem=problem)


def decode_lines(data: bytes) -> DecodedText:
    """Return a text with line ends of one kind."""
    text, problem = decode_text(data)
    return DecodedText(text.replace("\r\n", "\n").replace("\r", "\n"), problem)
