from __future__ import annotations

import secrets
import socket
from typing import TYPE_CHECKING

import pytest

from agents.live.valkey import connect
from agents.llm.client import create_client
from agents.llm.testing.wire_server import Options, WireServer, running_server
from heartbit_site.embedded import client as embedded
from heartbit_site.environment import read

from .support import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx
    from redis.asyncio import Redis


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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def account() -> str:
    return f"test:{secrets.token_hex(6)}"


@pytest.fixture(scope="session")
def valkey_url() -> str:
    """The installation's Valkey; nothing here needs its database."""
    environment = read()
    embedded.ensure({"valkey"}, environment.state)
    return environment.redis_url


@pytest.fixture
async def valkey(valkey_url: str) -> AsyncIterator[Redis]:
    client = connect(valkey_url)
    yield client
    await client.aclose()


@pytest.fixture
async def other_valkey(valkey_url: str) -> AsyncIterator[Redis]:
    client = connect(valkey_url)
    yield client
    await client.aclose()


@pytest.fixture
async def gone() -> AsyncIterator[Redis]:
    """A client of a server that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    client = connect(f"redis://127.0.0.1:{port}/0")
    yield client
    await client.aclose()
