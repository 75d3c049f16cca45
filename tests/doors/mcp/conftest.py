"""The official client of MCP, with a key of a workspace of the test's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from agents.models import Agent
from tests.api.conftest import caller
from tests.api.server import key_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker

__all__ = ["caller"]

T = TypeVar("T")


class Mcp:
    """Connections to a server with a key."""

    def __init__(self, address: str, key: str) -> None:
        self.address, self.key = address, key

    def run(self, use: Callable[[Client], Awaitable[T]], **options: Any) -> T:
        """What a function returns that uses a connected client."""

        async def connected() -> T:
            headers = {"Authorization": f"Bearer {self.key}"}
            async with (
                create_mcp_http_client(headers) as http,
                Client(
                    streamable_http_client(self.address, http_client=http), cache=None, **options
                ) as client,
            ):
                return await use(client)

        return asyncio.run(connected())


@pytest.fixture
def mcp(web: WebServer, worker: Worker, workspace: Workspace) -> Mcp:
    """Connections with every scope in a workspace of the test's own."""
    Agent.objects.filter(workspace=workspace).update(model="openai:fake")
    return Mcp(f"{web.url}/mcp", key_for(workspace))
