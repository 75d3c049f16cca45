"""Mermaid text of a graph: a flowchart whose labels cannot become syntax. Pure.

Labels are quoted, and everything but letters, digits and a few signs is written as an entity code.
Some texts are syntax even within quotes: ``direction LR`` at any place of a line, ``%%``, colons
behind ``style``, and marks of Markdown, such as a number with a point at the beginning (Mermaid's
``flow.jison`` and ``encodeEntities``). Identifiers are numbers behind a letter, never names.
"""

from __future__ import annotations

import re
from typing import Final

from agents.workflows.drawing.outline import END, JOIN, START, Item, Link, outline_of
from agents.workflows.graph import Graph
from agents.workflows.spec.graph import GraphSpec

LONGEST: Final = 80
_SHAPES: Final = {
    "agent": ("([", "])"),
    "workflow": ("[[", "]]"),
    "function": ("[", "]"),
    "tool": ("[/", "/]"),
    "validator": ("{{", "}}"),
    "code": ("[\\", "\\]"),
    "ask": ("{", "}"),
    "pause": ("(", ")"),
    "set": ("[(", ")]"),
    START: ("((", "))"),
    END: ("(((", ")))"),
    JOIN: (">", "]"),
}
_PLAIN: Final = re.compile(r"[^\w .,-]|_|^-|(?<=\d)\.|direction")


def to_mermaid(given: GraphSpec | Graph) -> str:
    """Return a graph as Mermaid text.

    Raises:
        DrawingTooLargeError: The graph has too many edges.
    """
    outline = outline_of(given)
    ids = {item.key: f"n{index}" for index, item in enumerate(outline.items)}
    lines = [
        "flowchart LR",
        *(f"    {ids[item.key]}{_shape(item)}" for item in outline.items),
        *(f"    {ids[link.source]} {_arrow(link)} {ids[link.target]}" for link in outline.links),
    ]
    return "\n".join(lines) + "\n"


def _shape(item: Item) -> str:
    opening, closing = _SHAPES[item.kind]
    if item.name:
        label = f"{_label(item.name)}<br/>{_label(item.text)}"
    else:
        label = _label(item.text or item.kind)
    return f'{opening}"{label}"{closing}'


def _arrow(link: Link) -> str:
    arrow = "-.->" if link.is_error else "-->"
    return f'{arrow}|"{_label(link.label)}"|' if link.label else arrow


def _label(text: str) -> str:
    short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    short = short.replace("$$", "$ $")  # between two of these is a formula, even as entities
    return _PLAIN.sub(lambda found: f"#{ord(found[0][0])};{found[0][1:]}", short)
