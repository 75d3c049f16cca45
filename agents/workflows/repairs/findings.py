"""Errors of checks, and their fingerprints: equal for one fault whatever its line or values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

_QUOTED: Final = re.compile(r"(?<!\w)(?:'[^'\n]*'(?!\w)|\"[^\"\n]*\"|`[^`\n]*`)")
_PATH: Final = re.compile(
    r"(?<![\w.~@+-])(?:file:/+|[A-Za-z]:\\)?[\w.~@+-]*+(?:[/\\][\w.~@+-]++)++"
)
_NUMBER: Final = re.compile(r"\b(?:0x[0-9a-fA-F]+|\d+(?:[._]\d+)*)")
_TEST: Final = re.compile(r"(?:^|/)(?:tests?/|test_|[^/]*(?:_test|\.test|\.spec)\.)")
_WORD: Final = re.compile(r"[\w./@+-]+")


class SourceFrame(NamedTuple):
    """A place in a file that is checked; an unknown line is 0.

    Attributes:
        within: Function that it lies in; empty: unknown.
    """

    file: str
    line: int = 0
    within: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """An error that a check has found.

    Attributes:
        check: Name of the check.
        kind: Class of the error, such as ``TypeError`` or ``TS2322``.
        message: Its message.
        frames: Its places in the files that are checked, the innermost one first.
    """

    check: str
    kind: str
    message: str
    frames: tuple[SourceFrame, ...] = ()

    @property
    def place(self) -> SourceFrame:
        """Innermost place in the files that are checked."""
        return self.frames[0] if self.frames else SourceFrame("")

    @property
    def fingerprint(self) -> str:
        """Hash of the class, the message without its values, and the innermost place.

        Quoted names, paths and numbers do not count, and of a place only its file and function do.
        """
        message = _NUMBER.sub("0", _PATH.sub("/", _QUOTED.sub('""', self.message)))
        parts = [self.kind, " ".join(message.split()), self.place.file, self.place.within]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def crosses_files(self, files: Collection[str]) -> bool:
        """Return True if the error involves two or more files; tests do not count.

        Args:
            files: Paths of the files that may be changed.
        """
        named = {frame.file for frame in self.frames}
        words = set(_WORD.findall(self.message))
        found = {file for file in files if file in named or file in words}
        return sum(_TEST.search(file) is None for file in found) > 1

    def plain(self) -> dict[str, Any]:
        """Return the error as JSON values: check, class, message, file and line."""
        file, line, _ = self.place
        return {
            "check": self.check,
            "class": self.kind,
            "message": self.message,
            "file": file,
            "line": line,
        }

    def __str__(self) -> str:
        """Return the error as a line of a prompt."""
        file, line, _ = self.place
        where = f" ({file}, line {line})" if line else f" ({file})" if file else ""
        return f"{self.check}: {self.kind}: {self.message}{where}"
