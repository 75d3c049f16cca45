"""Texts that make a backtracking engine work, derived from a pattern's own parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from re import _constants as codes
from re import _parser as parser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Parts = Any

_CATEGORIES = {
    codes.CATEGORY_DIGIT: "0",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_SPACE: " \n",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_WORD: "-",
}
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
#: Characters that meet most patterns: blanks, words, quotes, brackets, escapes.
_USUAL = ' \na0"<[\\'
_BLANKS = " \n"
_MOST_IN_PAIRS = 5
_MOST_UNITS = 12
_MOST_PREFIXES = 10
_MOST_TIMES = 64
_MOST_TIMES = 64
_END = "\x00!"  # what hardly any pattern ends with


@dataclass(frozen=True, slots=True)
class Recipe:
    """A text without an end that fits: a head, and a unit many times."""

    head: str
    unit: str

    def text(self, pattern: re.Pattern[Any], length: int) -> str | bytes:
        """Return the text of about a length, as a pattern takes it."""
        found = self.head + self.unit * (length // len(self.unit)) + _END
        return found if isinstance(pattern.pattern, str) else found.encode("latin-1", "replace")


def hostile(pattern: re.Pattern[Any]) -> Iterable[Recipe]:
    """Return recipes of texts that make a pattern work.

    They are runs of one or two characters of the pattern, alone and behind each beginning of a
    text that fits, and repetitions of each such beginning: nested repetitions, repetitions side by
    side, and searches for an end that never comes all meet one of them.
    """
    source = pattern.pattern
    # Bytes are parsed as text: what counts here are their characters.
    text = source if isinstance(source, str) else source.decode("latin-1")
    flags = pattern.flags if isinstance(source, str) else pattern.flags & ~re.UNICODE
    tree = parser.parse(text, flags)
    units = list(dict.fromkeys([*_characters(tree), *_USUAL]))[:_MOST_UNITS]
    pairs = list(dict.fromkeys([*units[:_MOST_IN_PAIRS], *_BLANKS]))
    samples = dict.fromkeys(_sample(tree, times) for times in (1, 2, 0))
    heads = _spread(
        list(dict.fromkeys(sample[:end] for sample in samples for end in range(len(sample) + 1)))
    )
    recipes = [Recipe(head, unit) for head, unit in product(heads, units)]
    recipes += [Recipe("", first + second) for first, second in product(pairs, pairs)]
    recipes += [Recipe("", head) for head in heads if head]
    return dict.fromkeys(recipes)


def _spread(found: list[str]) -> list[str]:
    if len(found) <= _MOST_PREFIXES:
        return found
    return [found[i * (len(found) - 1) // (_MOST_PREFIXES - 1)] for i in range(_MOST_PREFIXES)]


def _characters(tree: Parts) -> Iterator[str]:
    """Yield the literals of a pattern, and a character or two of each class."""
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.IN:
            yield from _members(value)
        elif code is codes.NOT_LITERAL or code is codes.ANY:
            yield "a"
        else:
            for part in _inner(code, value):
                yield from _characters(part)


def _members(value: Parts) -> Iterator[str]:
    if value[0][0] is codes.NEGATE:
        yield next(letter for letter in "a -\n0!~" if not _is_in(letter, value[1:]))
    for code, member in value:
        if code is codes.LITERAL:
            yield chr(member)
        elif code is codes.RANGE:
            yield chr(member[0])
        elif code is codes.CATEGORY:
            yield from _CATEGORIES.get(member, "")


def _is_in(letter: str, members: Parts) -> bool:
    for code, member in members:
        if code is codes.LITERAL and chr(member) == letter:
            return True
        if code is codes.RANGE and member[0] <= ord(letter) <= member[1]:
            return True
        if code is codes.CATEGORY and letter in _CATEGORIES.get(member, ""):
            return True
    return False


def _inner(code: Parts, value: Parts) -> list[Parts]:
    """Return the patterns within a part of a pattern."""
    if code in _REPEATS:
        return [value[2]]
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    if code is codes.BRANCH:
        return list(value[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return []


def _sample(tree: Parts, times: int) -> str:
    """Return a short text that fits a pattern; what may repeat does so ``times``."""
    return "".join(_sample_of(code, value, times) for code, value in tree)


def _sample_of(code: Parts, value: Parts, times: int) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.IN:
        return next(_members(value), "a")
    if code in (codes.ANY, codes.NOT_LITERAL):
        return "a"
    if code in _REPEATS:
        low, high, part = value
        text = _sample(part, times)
        count: int = min(max(low, times), _MOST_TIMES)
        if high is not codes.MAXREPEAT:
            count = min(count, high)
        return text * count
    if code is codes.BRANCH:
        return _sample(value[1][min(times, len(value[1]) - 1)], times)
    if code in (codes.ASSERT, codes.ASSERT_NOT, codes.AT):
        return ""
    return "".join(_sample(part, times) for part in _inner(code, value))
