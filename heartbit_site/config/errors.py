"""Problems of a configuration file: all of them at once, with their places."""

from __future__ import annotations

from dataclasses import dataclass

from heartbit_site.base.errors import ConfigurationError


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing to mend.

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
        more = f"{self.file}: There are more than these {len(found)} problems: mend them first."
        return [*found, more] if self.cut else found
