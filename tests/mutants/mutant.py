"""One small change of a source file that some test should notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mutant:
    """A piece of a file and what stands there instead.

    Attributes:
        path: Of the file, relative to the repository.
        line: Of the change, counted from 1.
        start: Where the changed piece begins, in bytes of the file.
        end: Where it ends.
        replacement: What stands there in the mutant.
    """

    path: Path
    line: int
    start: int
    end: int
    replacement: str

    def applied_to(self, source: bytes) -> bytes:
        """Return the mutated file's content."""
        return source[: self.start] + self.replacement.encode() + source[self.end :]

    def described(self, source: bytes) -> str:
        """Return the change as one line: ``path:line  before -> after``."""
        before = " ".join(source[self.start : self.end].decode().split())
        after = " ".join(self.replacement.split())
        return f"{self.path}:{self.line}  {before} -> {after}"


def line_starts(source: bytes) -> list[int]:
    """Return the byte offset at which each line begins."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts
