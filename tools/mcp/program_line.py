"""Lines of ``HEARTBIT_MCP_COMMANDS``: programs with arguments and sandbox exceptions. Pure.

Words before the program that begin with a plus are exceptions: ``+host=NAME``, ``+read=PATH``,
``+write=PATH``, or ``+open`` for no sandbox at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """A program as an administrator allowed it.

    Attributes:
        words: The program and its arguments.
        hosts: Names of the hosts that it may reach.
        read: Paths that it may read, beside those among its words.
        write: Paths that it may write.
        is_open: True if it runs without a sandbox.
    """

    words: tuple[str, ...]
    hosts: tuple[str, ...]
    read: tuple[str, ...]
    write: tuple[str, ...]
    is_open: bool


def read_line(line: Sequence[str]) -> ProgramLine:
    """Return the parts of a line, which was checked when the variable was read."""
    openings = []
    words = list(line)
    while words and words[0].startswith("+"):
        openings.append(words.pop(0))

    def named(kind: str) -> tuple[str, ...]:
        begin = f"+{kind}="
        return tuple(one.removeprefix(begin) for one in openings if one.startswith(begin))

    return ProgramLine(
        tuple(words),
        hosts=tuple(host.lower() for host in named("host")),
        read=named("read"),
        write=named("write"),
        is_open="+open" in openings,
    )
