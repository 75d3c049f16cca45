from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.llm.client import create_client
from agents.llm.testing.wire_server import Options, WireServer, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """The client as the product builds it."""
    client = create_client()
    yield client
    await client.aclose()


@pytest.fixture
async def wire() -> AsyncIterator[WireServer]:
    async with running_server(Options()) as server:
        yield server
