"""Selection of the installation's sandbox: the configured one if it works, never another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from django.conf import settings

from heartbit_site.base.http.allow import parse_allow
from tools.sandbox import remote
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.docker import Docker
from tools.sandbox.probe import Probed
from tools.sandbox.program import Sandbox, SandboxError

#: What ``HEARTBIT_SANDBOX`` may name. Adding one is a class and a line.
SANDBOXES: Final[dict[str, Callable[[], Sandbox]]] = {
    "bubblewrap": lambda: Bubblewrap(parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)),
    "docker": lambda: Docker(_image()),
    "remote": remote.configured,
}
OFF: Final = "off"

_probed = Probed()


async def find_sandbox() -> Sandbox:
    """Return the sandbox, which was probed within the last minute.

    Raises:
        SandboxError: It is switched off or does not work; the sentence gives the remedy.
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
        raise SandboxError(f"Code is not run here, because no sandbox works: {problem}")
    return sandbox


def _image() -> str:
    image: str = settings.HEARTBIT_SANDBOX_IMAGE
    if not image:
        raise SandboxError(
            "Code is not run here: HEARTBIT_SANDBOX is docker, and HEARTBIT_SANDBOX_IMAGE is not "
            "set."
        )
    return image


def describe_sandbox() -> tuple[str, str | None]:
    """Return the sandbox's name and why it cannot be used, or None. Blocks for the probe."""
    try:
        return asyncio.run(find_sandbox()).name, None
    except SandboxError as error:
        return settings.HEARTBIT_SANDBOX, str(error)
