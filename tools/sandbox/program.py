"""A program to run in a sandbox, its limits, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

from heartbit_site.base.errors import HeartbitError

Language: TypeAlias = Literal["python", "javascript", "typescript", "shell"]
Ending: TypeAlias = Literal["exited", "out of time", "too much output"]

MEGABYTE: Final = 1024 * 1024


class SandboxError(HeartbitError):
    """There is no sandbox, or it cannot run this program; nothing was run."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one program.

    Attributes:
        seconds: Wall time; the program has one processor.
        memory_bytes: Of each process; of all together where there is a control group.
        processes: Processes and threads at once.
        disk_bytes: Of its folder, and as much again of ``/tmp``.
        output_bytes: Of what it writes to standard output and standard error, each.
        file_bytes: Of the files that it leaves, all together.
        files: Number of these files.
    """

    seconds: float = 30.0
    memory_bytes: int = 512 * MEGABYTE
    processes: int = 64
    disk_bytes: int = 64 * MEGABYTE
    output_bytes: int = MEGABYTE
    file_bytes: int = 16 * MEGABYTE
    files: int = 500


@dataclass(frozen=True, slots=True)
class Program:
    """A program.

    Attributes:
        code: Its source text.
        files: Content of the files in its folder, by relative path.
        hosts: Names of the hosts that it may reach, in lower case; none: it has no network.
    """

    language: Language
    code: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a program, and what it left.

    Attributes:
        code: Exit code, 128 and the signal's number after a signal; None: it was ended.
        ending: Whether it ended itself.
        files: Content of all files that it left in its folder, by relative path; none if it was
            ended.
        refused: Sentences on what it left that is not returned.
        sandbox: Name of the sandbox.
        seconds: Wall time, with the sandbox's own.
        is_complete: False if its files could not be read, so that what it left is unknown.
    """

    code: int | None
    ending: Ending
    stdout: str
    stderr: str
    files: Mapping[str, bytes]
    refused: tuple[str, ...]
    sandbox: str
    seconds: float
    is_complete: bool = True


class Sandbox(Protocol):
    """A way to run programs; see ``tools.sandbox.bubblewrap`` for one."""

    @property
    def name(self) -> str:
        """Name, as shown to people and recorded with each program."""
        ...

    async def problem(self) -> str | None:
        """Return why nothing may be run here, as a sentence, or None if it holds."""
        ...

    async def run(self, program: Program) -> Ended:
        """Run a program to its end, or until a limit ends it.

        Raises:
            SandboxError: The sandbox is not there, or has no such language.
        """
        ...
