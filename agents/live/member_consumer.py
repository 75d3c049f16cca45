"""Base WebSocket consumer for a member of a workspace or an API key.

Close codes, beside WebSocket's own: 4401 not logged in, or the key is not valid; 4403 role or key
lacks the right; 4404 not found; 4408 no request in time; 4413 malformed request; 4429 too many
messages or connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from typing import Any, ClassVar

from channels.generic.websocket import AsyncJsonWebsocketConsumer

from agents.llm.wrappers.bucket import Bucket
from heartbit_site.base import orm
from heartbit_site.base.access import (
    Access,
    NoWorkspaceError,
    access_of_user,
    is_session_valid,
    refresh_access,
)

CHECK_SECONDS = 4.0  # revoked members and keys are disconnected within five
FRAMES = Bucket(per_second=20, size=20)  # limit for one side
UNKNOWN, FORBIDDEN, NOT_FOUND, IDLE, MALFORMED, RATE_LIMITED = 4401, 4403, 4404, 4408, 4413, 4429


class MemberConsumer(AsyncJsonWebsocketConsumer):
    """WebSocket of a member or a key; subclasses define the needed scope and the messages.

    It answers ``{"type": "ping"}`` with ``{"type": "pong"}``, so that a page detects a frozen
    server, whose connections stay open.
    """

    scope_needed: ClassVar[str] = "runs:read"
    check_seconds: ClassVar[float] = CHECK_SECONDS
    #: No channel per socket, which Valkey would have to create: see ``agents.live.feeds``.
    channel_layer_alias: ClassVar[str] = "none"
    access: Access
    _is_over = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one socket."""

        async def send_until_over(message: Any) -> None:
            if self._is_over and message["type"] != "websocket.close":
                return  # the server treats a second close as an error
            # A disconnected page is not a failure: the server raises here, and reports it next.
            with contextlib.suppress(OSError):
                await send(message)

        await super().__call__(scope, receive, send_until_over)

    async def connect(self) -> None:
        """Admit members and keys; close for others with a code that gives the reason."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_in = False
        self._full_at = 0.0  # time when the full allowance is available again
        await self.accept()
        refused = await orm.run_in_thread(self._admitted)
        if refused is None:
            refused = await self.on_admitted()
        if refused is not None:
            await self.close(refused)
            return
        self._is_in = True
        self.start_task(self._stay())

    async def receive(
        self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any
    ) -> None:
        """Handle a member's message; ignore messages of sockets not admitted."""
        if not self._is_in:
            return
        now = time.monotonic()
        self._full_at, allowed_at = FRAMES.take(self._full_at, now, 1)
        if allowed_at > now:
            await self.close(RATE_LIMITED)
        elif text_data is None:
            await self.close(MALFORMED)
        else:
            content = await self.decode_json(text_data)
            if content.get("type") == "ping":
                await self.send_json({"type": "pong"})
            else:
                await self.receive_json(content, **kwargs)

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Close the socket: it accepts no messages."""
        await self.close(MALFORMED)

    async def close(self, code: int | bool | None = None, reason: str | None = None) -> None:  # noqa: FBT001  the base class's
        """Close once: ignore later messages and cancel the tasks."""
        if self._is_over:
            return
        self._is_over, self._is_in = True, False
        self._stop()
        await super().close(code, reason)

    async def on_admitted(self) -> int | None:
        """Prepare the consumer; return a close code to refuse the client, or None."""
        return None

    def start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a task until it or the socket ends."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def disconnect(self, code: int) -> None:
        """Cancel the tasks and wait for them."""
        await asyncio.gather(*self._stop(), return_exceptions=True)

    def _stop(self) -> list[asyncio.Task[None]]:
        """Cancel the running tasks except for the calling one."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        return tasks

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a page's socket failed", "exception": problem}
            )
            self.start_task(self.close(1011))

    def _admitted(self) -> int | None:
        slug: str = self.scope["url_route"]["kwargs"]["workspace"]
        found = _of_key(self.scope, slug) if "opened" in self.scope else _of_page(self.scope, slug)
        if isinstance(found, int):
            return found
        self.access = found
        return None if found.allows(self.scope_needed) else FORBIDDEN

    async def _stay(self) -> None:
        while True:
            await asyncio.sleep(self.check_seconds)
            code = await orm.run_in_thread(self._still)
            if code is not None:
                await self.close(code)
                return

    def _still(self) -> int | None:
        if self.access.key_id is None:
            session_key: str | None = self.scope["session"].session_key
            if not is_session_valid(session_key, self.access.user_id):
                return UNKNOWN
        now = refresh_access(self.access)
        if now is None:
            return UNKNOWN
        self.access = now
        return None if now.allows(self.scope_needed) else FORBIDDEN

    @classmethod
    async def decode_json(cls, text_data: str) -> Any:
        """Return a message; an empty object if it is not a JSON object."""
        with contextlib.suppress(ValueError, RecursionError):
            content = await super().decode_json(text_data)
            if isinstance(content, dict):
                return content
        return {}


def _of_key(scope: Any, slug: str) -> Access | int:
    """Return the access of the handshake's key (``heartbit_site.api.sockets``), or a close code."""
    found: Access | int = scope["opened"]
    # Other workspaces do not exist for a key, as in the API.
    is_foreign = isinstance(found, Access) and found.workspace.slug != slug
    return NOT_FOUND if is_foreign else found


def _of_page(scope: Any, slug: str) -> Access | int:
    """Return the access of the session's user, or a close code."""
    user: Any = scope["user"]
    if not user.is_authenticated:
        return UNKNOWN
    try:
        return access_of_user(user, slug)
    except NoWorkspaceError:
        return NOT_FOUND
