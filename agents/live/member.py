"""What every socket of a page has in common: a member of a workspace, for as long as they are one.

Codes of closing, beside WebSocket's own: 4401 nobody is logged in (any more), 4403 the role does
not allow it, 4404 there is nothing here, 4408 nothing was asked for in time, 4413 what was sent is
no request.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

from channels.generic.websocket import AsyncJsonWebsocketConsumer

from heartbit_site.base import orm
from heartbit_site.base.access import Access, NoWorkspaceError, access_of_user, renew

if TYPE_CHECKING:
    from collections.abc import Coroutine

CHECK_SECONDS = 4.0  # a member who left, logged out or lost a right is gone within five
UNKNOWN, FORBIDDEN, ABSENT, SILENT, MALFORMED = 4401, 4403, 4404, 4408, 4413


class MemberConsumer(AsyncJsonWebsocketConsumer):
    """A socket of a member; subclasses say which scope it takes and what is told."""

    scope_needed: ClassVar[str] = "runs:read"
    check_seconds: ClassVar[float] = CHECK_SECONDS
    access: Access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one socket."""

        async def told(message: Any) -> None:
            # A page that has gone is no failure: the server says so here, and tells it next.
            with contextlib.suppress(OSError):
                await send(message)

        await super().__call__(scope, receive, told)

    async def connect(self) -> None:
        """Let a member in; everybody else is told why not, by the code."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_in = False
        await self.accept()
        refused = await orm.in_thread(self._admitted)
        if refused is None:
            refused = await self.admitted()
        if refused is not None:
            await self.close(refused)
            return
        self._is_in = True
        self.alongside(self._stay())

    async def receive(
        self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any
    ) -> None:
        """Hand on what a member sent; what others send before they are gone is nothing."""
        if not self._is_in:
            return
        if text_data is None:
            await self.close(MALFORMED)
            return
        await super().receive(text_data=text_data, **kwargs)

    async def admitted(self) -> int | None:
        """Prepare; the code to close with, or None."""
        return None

    def alongside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something until it is over, or the socket is."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def disconnect(self, code: int) -> None:
        """End what was done alongside."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a page's socket failed", "exception": problem}
            )
            self.alongside(self.close(1011))

    def _admitted(self) -> int | None:
        user: Any = self.scope["user"]
        if not user.is_authenticated:
            return UNKNOWN
        try:
            self.access = access_of_user(user, self.scope["url_route"]["kwargs"]["workspace"])
        except NoWorkspaceError:
            return ABSENT
        return None if self.access.allows(self.scope_needed) else FORBIDDEN

    async def _stay(self) -> None:
        while True:
            await asyncio.sleep(self.check_seconds)
            code = await orm.in_thread(self._still)
            if code is not None:
                await self.close(code)
                return

    def _still(self) -> int | None:
        session = self.scope["session"]
        if session.session_key is None or not session.exists(session.session_key):
            return UNKNOWN
        now = renew(self.access)
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
