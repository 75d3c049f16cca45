"""A text in pieces for a page, so that what it hid is marked as hidden. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from heartbit_site.base.visible_text import split_hidden


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a text; an escaped one stands for one character."""

    text: str
    escaped: bool


def parts(text: str) -> list[Part]:
    """The text in pieces, each hidden character as its JSON escape in a piece of its own."""
    found = enumerate(split_hidden(text))
    return [Part(piece, escaped=bool(index % 2)) for index, piece in found if piece]
