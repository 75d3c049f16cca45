"""The sandbox of this installation: the one that is configured, if it holds; never another one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from django.conf import settings

from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.program import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.sandbox.program import Sandbox

#: What ``HEARTBIT_SANDBOX`` may name. Adding one is a class and a line.
SANDBOXES: Final[dict[str, Callable[[], Sandbox]]] = {"bubblewrap": Bubblewrap}
OFF: Final = "off"
#: How long a sandbox that held, or did not, is taken to be as it was.
KEEP_SECONDS: Final = 60.0


class _Probed:
    """The verdict on the sandbox that was probed last."""

    def __init__(self) -> None:
        self._name = ""
        self._until = 0.0
        self._problem: str | None = None

    async def problem(self, sandbox: Sandbox) -> str | None:
        now = time.monotonic()
        if sandbox.name == self._name:
            if now < self._until:
                return self._problem
            self._until = now + KEEP_SECONDS  # one asks; others go by the last answer meanwhile
        self._problem = await sandbox.problem()
        self._name, self._until = sandbox.name, now + KEEP_SECONDS
        return self._problem


_probed = _Probed()


async def find_sandbox() -> Sandbox:
    """Return the sandbox, which was probed within the last minute.

    Raises:
        SandboxError: It is switched off, or does not hold; the sentence says how to mend it.
    """
    name: str = settings.HEARTBIT_SANDBOX
    if name == OFF:
        raise SandboxError(
            "Code is not run here: HEARTBIT_SANDBOX is off. Set it to "
            f"{' or '.join(SANDBOXES)} where the workers run."
        )
    sandbox = SANDBOXES[name]()
    problem = await _probed.problem(sandbox)
    if problem is not None:
        raise SandboxError(f"Code is not run here, because no sandbox holds: {problem}")
    return sandbox


def describe_sandbox() -> tuple[str, str | None]:
    """Return the sandbox's name and why it cannot be used, or None. Blocks for the probe."""
    try:
        return asyncio.run(find_sandbox()).name, None
    except SandboxError as error:
        return settings.HEARTBIT_SANDBOX, str(error)
