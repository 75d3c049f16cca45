"""Addresses in From and Reply-To headers. Pure.

``email.utils.getaddresses`` is not used: before Python 3.11.10 it finds addresses that no mail
program shows (CVE-2023-27043).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.encoding import punycode

from tools.mail.headers import decode_words, one_line

MOST_OF_NAME = 200
_MOST_OF_VALUE = 10_000
_MOST_OF_ADDRESS = 254
_MARK = re.compile(r'\\.|["()]|[^\\"()]+|.', re.DOTALL)
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*+"?|<[^<>"]*+>|[^"<>,;:]+|.', re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Person:
    """A person named in a header.

    Attributes:
        address: Bare address, its domain in lower case and punycode; empty: no valid address.
        name: One line; may be empty.
    """

    address: str
    name: str


def people(value: str) -> list[Person]:
    """Return the people that a header's value names, in order; for a group, its members."""
    found: list[Person] = []
    draft = _Draft()
    for piece in _PIECE.findall(_without_comments(value[:_MOST_OF_VALUE])):
        if piece == ":":  # the words before it are a group's name
            draft = _Draft()
        elif piece in {",", ";"}:
            found += draft.person()
            draft = _Draft()
        else:
            draft.add(piece)
    return [*found, *draft.person()]


@dataclass(slots=True)
class _Draft:
    """A person being parsed."""

    words: list[str] = field(default_factory=list)
    angles: list[str] = field(default_factory=list)
    broken: bool = False

    def add(self, piece: str) -> None:
        if len(piece) > 1 and piece[0] == "<":
            self.angles.append(piece[1:-1])
        elif piece in {"<", ">"} or (piece[0] == '"' and not _QUOTED.fullmatch(piece)):
            self.broken = True
        elif piece.strip():
            self.broken = self.broken or bool(self.angles)
            self.words.append(piece)

    def person(self) -> list[Person]:
        if not self.words and not self.angles:
            return []
        if self.broken or len(self.angles) > 1:
            return [Person("", "")]
        if not self.angles:
            return [Person(_usable("".join(self.words)), "")]
        name = one_line(decode_words("".join(map(_unquoted, self.words))), MOST_OF_NAME)
        return [Person(_usable(self.angles[0]), name)]


def _usable(text: str) -> str:
    """Return the normalized address; empty if it is not valid."""
    local, _, domain = text.strip().rpartition("@")
    if not local or not domain or len(text) > _MOST_OF_ADDRESS:
        return ""
    try:
        address = f"{local}@{punycode(domain).lower()}"
        validate_email(address)
    except (ValidationError, UnicodeError):
        return ""
    fits = address.isprintable() and '"' not in address and len(address) <= _MOST_OF_ADDRESS
    return address if fits else ""


def _unquoted(piece: str) -> str:
    return _ESCAPED.sub(r"\1", piece[1:-1]) if piece[0] == '"' else piece


def _without_comments(value: str) -> str:
    kept: list[str] = []
    depth, quoted = 0, False
    for mark in _MARK.findall(value):
        if mark == '"' and not depth:
            quoted = not quoted
        elif mark == "(" and not quoted:
            depth += 1
        if not depth:
            kept.append(mark)
        if mark == ")" and not quoted and depth:
            depth -= 1
    return "".join(kept)
