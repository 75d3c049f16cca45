"""``ChatModel`` over pydantic-ai, which is imported only with the first request.

The import costs about a second of CPU and sixty megabytes, so nothing outside this package's other
modules may import pydantic-ai, and this module reaches them only by name.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.llm.adapters.endpoint import DEFAULT_TIMEOUTS, Timeouts
from agents.llm.messages import ChatRequest, StreamEvent
from agents.llm.profiles import COMPATIBLE, Profile

if TYPE_CHECKING:
    import httpx

    from agents.llm.bridge.account import Account
    from agents.llm.bridge.session import Session


@dataclass(slots=True, kw_only=True)
class BridgedModel:
    """A model of a provider without an adapter of Heartbit's own.

    Attributes:
        client: Client of the process; providers whose SDK accepts one send their requests over it.
        profile: Profile, whose limits and restrictions apply; tools are always native.
        timeouts: Longest silence of the provider.
    """

    account: Account
    client: httpx.AsyncClient = field(repr=False)
    profile: Profile = COMPATIBLE
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    _session: Session | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return f"{self.account.provider}:{self.account.model}"

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``."""
        return self._stream(request)

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[StreamEvent, None]:
        if self._session is None:
            # In a thread, because the import would block every other run of this process. Two
            # concurrent first requests connect twice: harmless, as a session has no connection.
            self._session = await asyncio.to_thread(self._open)
        async with aclosing(self._session.stream(request)) as events:
            async for event in events:
                yield event

    def _open(self) -> Session:
        module: Any = importlib.import_module("agents.llm.bridge.session")
        session: Session = module.open_session(
            self.account, client=self.client, profile=self.profile, timeouts=self.timeouts
        )
        return session
