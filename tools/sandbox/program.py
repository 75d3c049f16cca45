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
    """No sandbox is available, or it cannot run this program; nothing was run."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one program.

    Attributes:
        seconds: Wall time; the program has one processor.
        memory_bytes: Memory of each process, or of all together with a control group.
        processes: Processes and threads at once.
        disk_bytes: Size of its folder, and as much again for ``/tmp``.
        output_bytes: Limit for each of standard output and standard error.
        file_bytes: Total size of the files that it leaves.
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
        hosts: Names of the hosts that it may reach, in lower case; none means no network.
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
        code: Exit code, or 128 plus the signal's number; None if it was stopped.
        ending: Whether it ended by itself, or the limit that stopped it.
        files: Content of all files that it left in its folder, by relative path; none if it was
            stopped.
        refused: Sentences about files that it left and that are not returned.
        sandbox: Name of the sandbox.
        seconds: Wall time, including the sandbox's overhead.
        is_complete: False if its files could not be read, so they are unknown.
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
        """Return why nothing can be run here, as a sentence, or None if the sandbox works."""
        ...

    async def run(self, program: Program) -> Ended:
        """Run a program to its end, or until a limit ends it.

        Raises:
            SandboxError: The sandbox is unavailable, or lacks the language.
        """
        ...
