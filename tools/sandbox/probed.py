"""Verdicts on sandboxes, each kept for a minute."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tools.sandbox.program import Sandbox

#: How long a sandbox that held, or did not, is taken to be as it was.
KEEP_SECONDS: Final = 60.0


class Probed:
    """The verdict on the sandbox that was probed last."""

    def __init__(self) -> None:
        self._name = ""
        self._until = 0.0
        self._problem: str | None = None

    async def problem(self, sandbox: Sandbox) -> str | None:
        """Return why a sandbox does not hold, or None; probe it if that is not known."""
        now = time.monotonic()
        if sandbox.name == self._name:
            if now < self._until:
                return self._problem
            self._until = now + KEEP_SECONDS  # one asks; others go by the last answer meanwhile
        self._problem = await sandbox.problem()
        self._name, self._until = sandbox.name, now + KEEP_SECONDS
        return self._problem
