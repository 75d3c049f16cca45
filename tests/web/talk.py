"""A socket of our application without a network between, and what may be watched through it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.db import transaction

from agents.actions.runs import cancel_run
from heartbit_site.asgi import application
from tests.starts import start_run

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace

OURS = "http://localhost"


class Talk:
    """One socket.

    Args:
        path: Where it is.
        cookie: Of a session; empty: none is sent.
        origin: The page's; empty: it is no page.
        serving: The application.
        authorization: The header; empty: none is sent.
        query: Of the address.
        host: The header.
        scheme: Of the connection to the server.
        forwarded: The scheme that a proxy says the client uses; empty: it says nothing.
    """

    def __init__(
        self,
        path: str,
        cookie: str = "",
        origin: str = OURS,
        serving: Any = application,
        *,
        authorization: str = "",
        query: str = "",
        host: str = "localhost",
        scheme: str = "ws",
        forwarded: str = "",
    ) -> None:
        headers = [(b"host", host.encode())]
        if forwarded:
            headers.append((b"x-forwarded-proto", forwarded.encode()))
        if origin:
            headers.append((b"origin", origin.encode()))
        if cookie:
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()))
        if authorization:
            headers.append((b"authorization", authorization.encode("latin-1")))
        scope: dict[str, Any] = {"type": "websocket", "scheme": scheme, "path": path}
        scope["query_string"] = query.encode()
        communicator: Any = ApplicationCommunicator  # asgiref's tests' parts have no types
        self._there: Any = communicator(serving, {**scope, "headers": headers, "subprotocols": []})

    async def open(self) -> str:
        """What the handshake is answered with."""
        await self._there.send_input({"type": "websocket.connect"})
        return str((await self._there.receive_output(timeout=10))["type"])

    async def say(self, frame: str | bytes) -> None:
        """Send a frame, of text or of bytes."""
        kind = "text" if isinstance(frame, str) else "bytes"
        await self._there.send_input({"type": "websocket.receive", kind: frame})

    async def hears(self) -> dict[str, Any]:
        """The next frame."""
        frame = await self._there.receive_output(timeout=10)
        found: dict[str, Any] = json.loads(frame["text"])
        return found

    async def closed_with(self) -> int:
        """The code with which the server hangs up, whatever it says before."""
        there = self._there
        while (message := await there.receive_output(timeout=10))["type"] != "websocket.close":
            pass
        await there.send_input({"type": "websocket.disconnect", "code": message["code"]})
        await there.wait()
        return int(message["code"])


async def opened(path: str, cookie: str = "", serving: Any = application, **more: Any) -> Talk:
    """A socket whose handshake was answered; ``more`` is ``Talk``'s."""
    talk = Talk(path, cookie, serving=serving, **more)
    assert await talk.open() == "websocket.accept"
    return talk


def run_path(workspace: Workspace, run: object) -> str:
    """Where a run is watched."""
    return f"/ws/{workspace.slug}/runs/{run}/"


def waiting_run(workspace: Workspace) -> UUID:
    """One that no worker takes: none sees it before it is cancelled."""
    with transaction.atomic():
        run = start_run(workspace, "Wait.", agent="writer")
        cancel_run(workspace, run, reason="not needed")
    return run
