"""Problems of a configuration file, reported together with their positions.

Errors of ``tomllib``, which are about TOML's grammar, become problems of the user's file.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.config import toml_text
from heartbit_site.config.positions import end_of_string, last_repeat, offset_of
from heartbit_site.config.sections import is_array


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A problem to fix.

    Attributes:
        line: Line from 1; 0 when the problem belongs to no line of the file.
        column: Column in characters, from 1.
        message: One sentence that begins with the name of the setting.
    """

    line: int
    column: int
    message: str


class ConfigFileError(ConfigurationError):
    """A configuration file cannot be used.

    As a string it is one sentence, the first problem; ``lines`` has one line for each.

    Attributes:
        file: The file's name as the user gave it.
        problems: The problems, from the top of the file down.
        cut: True if there may be more problems than these.
    """

    def __init__(self, file: str, problems: list[Problem], *, cut: bool = False) -> None:
        self.file = file
        self.problems = tuple(sorted(set(problems)))
        self.cut = cut
        lines = self.lines
        more = len(self.problems) - 1
        count = f"at least {more + 1}" if cut else more
        rest = f" (and {count} more: `heartbit config check {file}` lists them)" if more else ""
        super().__init__(f"{lines[0]}{rest}")

    @property
    def lines(self) -> list[str]:
        """Each problem as ``file:line:column: sentence``; the last line says if there are more."""
        found = [
            f"{self.file}:{problem.line}:{problem.column}: {problem.message}"
            if problem.line
            else f"{self.file}: {problem.message}"
            for problem in self.problems
        ]
        more = f"{self.file}: There are more than these {len(found)} problems: fix them first."
        return [*found, more] if self.cut else found


_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_REPEATED: Final = ("cannot overwrite a value", "cannot declare", "duplicate inline table key")
_COMPLETE: Final = re.compile(r"cannot mutate immutable namespace (\(.+\))$", re.DOTALL)
_CODE: Final = re.compile(r"""[^"'#]+|\#[^\n]*""")


def describe_malformed(message: str, text: str) -> Problem:
    """Return the problem that ``tomllib`` found.

    Args:
        message: ``tomllib``'s message, which ends with the position.
        text: The text of the file.
    """
    place = _PLACE.search(message)
    line, column = 0, 0
    if place is not None:
        lines = text.split("\n")
        line, column = len(lines), len(lines[-1]) + 1
        if place[1]:
            line, column = int(place[1]), int(place[2])
    reason = _PLACE.sub("", message)
    reason = f"{reason[:1].lower()}{reason[1:]}"
    quote = _unclosed(text)
    if quote is not None and line and quote < offset_of(text, line, column):
        return _quote(text, quote)
    if reason.startswith(_REPEATED):
        return _repeated(text, line, column, reason)
    if complete := _COMPLETE.match(reason):
        return _complete(text, line, column, ast.literal_eval(complete[1]))
    if reason == "invalid value":
        reason += ": write text in quotes, and true and false without"
    return Problem(line, column, f"This is not TOML: {reason}.")


def _unclosed(text: str) -> int | None:
    """Return the offset of the first quote that is not closed, or not on its line."""
    at = 0
    while at < len(text):
        code = _CODE.match(text, at)
        end = end_of_string(text, at) if code is None else code.end()
        if end is None:
            return at
        at = end
    return None


def _quote(text: str, offset: int) -> Problem:
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    mark = text[offset]
    if text.startswith(3 * mark, offset):
        return Problem(line, column, f"This text is never closed: end it with {3 * mark}.")
    return Problem(
        line,
        column,
        f"This text is not closed on its line: end it with {mark}, or write {3 * mark} around "
        "text of several lines.",
    )


def _repeated(text: str, line: int, column: int, reason: str) -> Problem:
    repeat = last_repeat(text, line, column)
    if repeat is None and reason == "cannot overwrite a value":
        return Problem(line, column, "This is not TOML: a part of the key already has a value.")
    if repeat is None:
        return Problem(line, column, f"This is not TOML: {reason}.")
    name = ".".join(
        toml_text.key(part) if isinstance(part, str) else str(part + 1) for part in repeat.path
    )
    if repeat.is_table and is_array(name):
        sentence = f"Write [[{name}]], with two brackets: there is one in line {repeat.first[0]}."
    elif repeat.is_table:
        sentence = (
            f"The table [{name}] is written twice, here and in line {repeat.first[0]}: "
            "put its keys together."
        )
    else:
        sentence = (
            f"The key {name} is written twice, here and in line {repeat.first[0]}: "
            "keep one of them."
        )
    return Problem(*repeat.place, sentence)


def _complete(text: str, line: int, column: int, key: tuple[str, ...]) -> Problem:
    """Return the problem of a key that adds to a list or an inline table written elsewhere."""
    name = ".".join(map(toml_text.key, key))
    repeat = last_repeat(text, line, column)
    if repeat is not None and repeat.place[0] == line:
        where, place = f"line {repeat.first[0]}", repeat.place
    else:
        where, place = "a line above", (line, column)
    return Problem(
        *place,
        f"{name} already has its whole value in {where}: move what is written here into that "
        "line, or remove that line.",
    )
