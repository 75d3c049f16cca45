"""The program that checks a sandbox from inside, and a cache of its verdicts for one minute."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.sandbox.program import Ended, Limits, Program

if TYPE_CHECKING:
    from tools.sandbox.program import Sandbox


def probe(hidden: Sequence[str] = (), usual: Sequence[str] = ()) -> Program:
    """Return the program.

    Args:
        hidden: Paths that must not exist in the sandbox.
        usual: Names of environment variables that every program has there.
    """
    code = (Path(__file__).parent / "inside" / "probe.py").read_text()
    files = {"hidden": "\n".join(hidden).encode(), "usual": "\n".join(usual).encode()}
    return Program("python", code, files, Limits(seconds=10))


def has_held(ended: Ended) -> bool:
    """Return True if the program found every restriction in force."""
    return ended.code == 0 and ended.stdout == "held\n"


def reason(ended: Ended) -> str:
    """Return the program's finding, without a full stop."""
    return (ended.stderr.strip() or ended.ending).splitlines()[-1][:300]


#: Time for which a verdict is reused.
KEEP_SECONDS: Final = 60.0


class Probed:
    """The verdict of the last probe."""

    def __init__(self) -> None:
        self._name = ""
        self._until = 0.0
        self._problem: str | None = None

    async def problem(self, sandbox: Sandbox) -> str | None:
        """Return why a sandbox does not work, or None; probe it if the verdict is too old."""
        now = time.monotonic()
        if sandbox.name == self._name:
            if now < self._until:
                return self._problem
            self._until = now + KEEP_SECONDS  # others use the last verdict meanwhile
        self._problem = await sandbox.problem()
        self._name, self._until = sandbox.name, now + KEEP_SECONDS
        return self._problem
