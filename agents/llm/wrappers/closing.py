"""Closing of another model's stream when its reader stops for any reason."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.llm.messages import StreamEvent


@asynccontextmanager
async def closing(events: AsyncIterator[StreamEvent]) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """Yield ``events`` and close them at the end.

    Left to the garbage collector, a stream that was not read to its end would keep its connection.
    """
    try:
        yield events
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
