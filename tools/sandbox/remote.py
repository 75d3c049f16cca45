"""The sandbox ``remote``: programs run on a runner (``tools.sandbox.runner``), over HTTP."""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from pydantic import BaseModel, ValidationError

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import AllowRule, parse_allow
from heartbit_site.base.http.client import GuardedClient
from tools.sandbox import wire
from tools.sandbox.probe import has_held, probe, reason
from tools.sandbox.program import Ended, Program, SandboxError

#: Time beyond the program's own: transport both ways, and the runner's queue.
MORE_SECONDS: Final = 25.0


class Remote:
    """A runner at an address set by an administrator.

    Its responses are held to the program's limits and the maximum message size, and redirects are
    not followed.
    """

    name = "remote"

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key

    async def problem(self) -> str | None:
        """See ``Sandbox.problem``."""
        try:
            ended = await self.run(probe())
        except SandboxError as error:
            return str(error)
        return None if has_held(ended) else f"The runner's sandbox does not work ({reason(ended)})."

    async def run(self, program: Program) -> Ended:
        """See ``Sandbox.run``."""
        began = time.monotonic()
        seconds = program.limits.seconds + MORE_SECONDS
        try:
            async with GuardedClient(
                allow=_only(self._url),
                max_response_bytes=wire.answer_bytes(program.limits),
                deadline_seconds=seconds,
                silence_seconds=seconds,
                follow_redirects=False,
            ) as http:
                answer = await http.post(
                    f"{self._url}{wire.PROGRAMS}",
                    content=await asyncio.to_thread(wire.write_program, program),
                    headers={
                        "Authorization": f"Bearer {self._key}",
                        "Content-Type": "application/json",
                    },
                )
        except (httpx.HTTPError, HeartbitError) as error:
            raise SandboxError(f"The sandbox's runner does not answer: {_why(error)}") from None
        if answer.status_code == HTTPStatus.UNAUTHORIZED:
            raise SandboxError(
                "The sandbox's runner rejected the key: set HEARTBIT_SANDBOX_KEY to the runner's."
            )
        if answer.status_code != HTTPStatus.OK:
            raise SandboxError(
                f"The sandbox's runner answered {answer.status_code}: {_detail(answer.content)}"
            )
        return await asyncio.to_thread(
            wire.read_end,
            answer.content,
            program.limits,
            sandbox=self.name,
            seconds=time.monotonic() - began,
        )


def configured() -> Remote:
    """Return the sandbox of ``HEARTBIT_SANDBOX_URL`` and ``HEARTBIT_SANDBOX_KEY``.

    Raises:
        SandboxError: One of them is not set.
    """
    for name in ("HEARTBIT_SANDBOX_URL", "HEARTBIT_SANDBOX_KEY"):
        if not getattr(settings, name):
            raise SandboxError(
                f"Code is not run here: HEARTBIT_SANDBOX is remote, and {name} is not set."
            )
    return Remote(settings.HEARTBIT_SANDBOX_URL, settings.HEARTBIT_SANDBOX_KEY)


def _only(url: str) -> tuple[AllowRule, ...]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parse_allow(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


class _Refusal(BaseModel):
    detail: str


def _detail(content: bytes) -> str:
    try:
        return _Refusal.model_validate_json(content).detail[: wire.MAX_SENTENCE]
    except ValidationError:
        return "it is not a Heartbit runner."


def _why(error: Exception) -> str:
    return str(error)[: wire.MAX_SENTENCE] or type(error).__name__
