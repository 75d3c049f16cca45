"""Markdown: its headings, and each top-level block as it was written."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from memory.knowledge.passages import Block, Extraction
from memory.knowledge.readers.text import decode_lines

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def read(data: bytes, first: int) -> Extraction:
    """Read a Markdown text; ``first`` is 0, since it has no pages."""
    text, problem = decode_lines(data)
    return Extraction(blocks_of(_FRONT_MATTER.sub("", text)), problem=problem)


def blocks_of(source: str) -> list[Block]:
    """Return the blocks of a Markdown text."""
    lines = source.split("\n")
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    found = []
    for place, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        if token.type == "heading_open":
            found.append(Block(_plain(tokens[place + 1].children or []), int(token.tag[1:])))
        else:
            first, end = token.map
            found.append(Block("\n".join(lines[first:end])))
    return found


def _plain(inline: list) -> str:  # type: ignore[type-arg]  # tokens of markdown-it
    return "".join(token.content or (" " if token.type == "softbreak" else "") for token in inline)
