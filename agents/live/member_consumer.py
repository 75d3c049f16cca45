"""What every socket has in common: a member of a workspace, or its key, for as long as they are it.

Codes of closing, beside WebSocket's own: 4401 nobody is logged in (any more), or the key opens
nothing (any more), 4403 the role or the key does not allow it, 4404 there is nothing here, 4408
nothing was asked for in time, 4413 what was sent is no request, 4429 too much was said, or somebody
asked too often.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, ClassVar

from channels.generic.websocket import AsyncJsonWebsocketConsumer

from agents.llm.wrappers.bucket import Bucket
from heartbit_site.base import orm, sessions
from heartbit_site.base.access import Access, NoWorkspaceError, access_of_user, refresh_access

if TYPE_CHECKING:
    from collections.abc import Coroutine

CHECK_SECONDS = 4.0  # who left, logged out, was revoked or lost a right is gone within five
FRAMES = Bucket(per_second=20, size=20)  # what one side may say
UNKNOWN, FORBIDDEN, NOT_FOUND, IDLE, MALFORMED, RATE_LIMITED = 4401, 4403, 4404, 4408, 4413, 4429


class MemberConsumer(AsyncJsonWebsocketConsumer):
    """A socket of a member or a key; subclasses say which scope it takes and what is told.

    Each answers ``{"type": "ping"}`` with ``{"type": "pong"}``, so that a page notices a frozen
    server, whose connections stay open.
    """

    scope_needed: ClassVar[str] = "runs:read"
    check_seconds: ClassVar[float] = CHECK_SECONDS
    #: No channel of a socket's own, which Valkey would have to make: see ``agents.live.feeds``.
    channel_layer_alias: ClassVar[str] = "none"
    access: Access
    _is_over = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one socket."""

        async def told(message: Any) -> None:
            if self._is_over and message["type"] != "websocket.close":
                return  # after the last word another one is a mistake to the server
            # A page that has gone is no failure: the server says so here, and tells it next.
            with contextlib.suppress(OSError):
                await send(message)

        await super().__call__(scope, receive, told)

    async def connect(self) -> None:
        """Let members and keys in; everybody else is told why not, by the code."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_in = False
        self._full_at = 0.0  # when it may say as much as ever again
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
        """Hand on what a member sent; what others send before they are gone is nothing."""
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

    async def close(self, code: int | bool | None = None, reason: str | None = None) -> None:  # noqa: FBT001  the base class's
        """Hang up, once; what the page says then is nothing, and nothing is done alongside."""
        if self._is_over:
            return
        self._is_over, self._is_in = True, False
        self._stop()
        await super().close(code, reason)

    async def on_admitted(self) -> int | None:
        """Prepare; the code to close with, or None."""
        return None

    def start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something until it is over, or the socket is."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def disconnect(self, code: int) -> None:
        """End what was done alongside."""
        await asyncio.gather(*self._stop(), return_exceptions=True)

    def _stop(self) -> list[asyncio.Task[None]]:
        """Cancel what is done alongside, but for what asks for it."""
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
            if not sessions.is_session_valid(session_key, self.access.user_id):
                return UNKNOWN
        now = refresh_access(self.access)
        if now is None:
            return UNKNOWN
        self.access = now
        return None if now.allows(self.scope_needed) else FORBIDDEN

    @classmethod
    async def decode_json(cls, text_data: str) -> Any:
        """What a page sent; anything that is not an object with a type is no request."""
        with contextlib.suppress(ValueError, RecursionError):
            content = await super().decode_json(text_data)
            if isinstance(content, dict):
                return content
        return {}


def _of_key(scope: Any, slug: str) -> Access | int:
    """What the key of the handshake opens (``heartbit_site.api.sockets``); how it is refused."""
    found: Access | int = scope["opened"]
    # What is in another workspace does not exist for a key, as in the API.
    is_foreign = isinstance(found, Access) and found.workspace.slug != slug
    return NOT_FOUND if is_foreign else found


def _of_page(scope: Any, slug: str) -> Access | int:
    """What the person of a session may do; how they are refused."""
    user: Any = scope["user"]
    if not user.is_authenticated:
        return UNKNOWN
    try:
        return access_of_user(user, slug)
    except NoWorkspaceError:
        return NOT_FOUND
