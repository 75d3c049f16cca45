"""Where a command works: in this installation, or at a server that it reaches with a key alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.command import Command, Ended

#: A database nobody may need: a command that looks for it fails.
NOWHERE = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
}


@dataclass(frozen=True)
class Place:
    """`heartbit` for one workspace, here or at a server; begins with ``words`` if there are any."""

    command: Command
    env: dict[str, str]
    words: tuple[str, ...] = ()

    def of(self, *words: str) -> Place:
        """The same with words that every command begins with, such as ``channels``."""
        return Place(self.command, self.env, (*self.words, *words))

    def __call__(self, *arguments: str) -> Ended:
        return self.command(*self.words, *arguments, env=self.env)

    def given(self, text: str, *arguments: str) -> Ended:
        """With a text on standard input."""
        started = self.command.start(*self.words, *arguments, env=self.env, said=text)
        return self.command.end(started)
