"""S1 for MCP: the SDK's own HTTP client reaches only what the guarded client would."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import httpx2
import pytest
from pydantic import SecretStr

from heartbit_site.base.credentials import OAuthClientCredential
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tests.base.loopback import Answer, Server, redirect, response, serving
from tests.base.test_http_guard import HOSTS, ODD_URLS, client
from tests.mcp.servers import connected
from tools.mcp.connection import McpConnection
from tools.mcp.endpoints import McpEndpoint, endpoint_of
from tools.mcp.errors import McpConnectionError, McpError
from tools.mcp.guarded_client import guarded_mcp_client
from tools.mcp.guarded_transport import GuardedMcpTransport, sdk_client
from tools.models import McpServer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator


@pytest.fixture
async def internal() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


async def test_no_vector_reaches_the_internal_server(internal: Server) -> None:
    async with client(internal.port) as guarded:
        sdk = sdk_client(GuardedMcpTransport(guarded), {"Authorization": "Bearer t"})  # type: ignore[arg-type]
        for host in HOSTS:
            with pytest.raises((httpx2.ConnectError, httpx2.InvalidURL)):
                await sdk.post(f"http://{host}:{internal.port}/mcp", json={})
        for url in ODD_URLS:
            with pytest.raises((httpx2.TransportError, httpx2.InvalidURL)):
                await sdk.post(url.format(port=internal.port), json={})
        await sdk.aclose()
    assert internal.connections == 0


@pytest.mark.parametrize(
    "status", ["302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
)
async def test_a_redirect_to_another_origin_is_not_followed(internal: Server, status: str) -> None:
    async with serving() as public:
        public.answers["/mcp"] = redirect(f"http://127.0.0.1:{internal.port}/mcp", status)
        url = f"http://127.0.0.1:{public.port}/mcp"
        headers = (("Authorization", "Bearer t"),)
        with pytest.raises(McpConnectionError, match="The MCP server x failed: "):
            async with connected(McpEndpoint(1, "x", url=url, headers=headers)):
                pass
    assert internal.connections == 0


async def test_a_private_server_is_refused_with_a_sentence(internal: Server) -> None:
    http = guarded_mcp_client(allow=parse_allow(""))
    connection = McpConnection(
        McpEndpoint(1, "x", url=f"http://127.0.0.1:{internal.port}/mcp"), http
    )
    with pytest.raises(McpConnectionError) as refused:
        await connection.open()
    assert "an operator can add" in str(refused.value)
    await http.aclose()
    assert internal.connections == 0


def bomb() -> bytes:
    """A hundred megabytes of blanks, compressed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    blanks = b" " * 1_000_000
    # Packed in full each, all but the first are the same bytes.
    first, again = (packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return response(
        first + 99 * again, headers=("Content-Type: application/json", "Content-Encoding: gzip")
    )


async def cut_stream(writer: asyncio.StreamWriter) -> None:
    """A stream of events that ends in the middle of one."""
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {"jsonr')
    await writer.drain()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (response(b"no", status="401 Unauthorized"), "status 401 (it requires another credential"),
        (response(b"no", status="503 Busy"), "it answered with the status 503."),
        (response(b"<html>", headers=("Content-Type: text/html",)), "Unexpected content type"),
        (response(b"{", headers=("Content-Type: application/json",)), "failed: "),
        (
            response(b"x" * 20_000_000, headers=("Content-Type: application/json",)),
            "larger than 10000000 bytes.",
        ),
        (bomb(), "larger than 10000000 bytes."),
        (cut_stream, "failed: "),
    ],
)
async def test_answers_of_no_mcp_server_are_sentences(answer: Answer, sentence: str) -> None:
    async with serving() as server:
        server.answers["/mcp"] = answer
        url = f"http://127.0.0.1:{server.port}/mcp"
        with pytest.raises(McpError) as refused:
            async with connected(McpEndpoint(1, "x", url=url)):
                pass
    assert sentence in str(refused.value)


async def test_an_oauth_client_gets_its_token_by_itself() -> None:
    async with serving() as server:
        told = b'{"access_token": "tok", "token_type": "Bearer", "expires_in": 600}'
        server.answers["/token"] = response(told, headers=("Content-Type: application/json",))
        place = f"http://127.0.0.1:{server.port}"
        credential = OAuthClientCredential(
            url=f"{place}/mcp",
            token_url=f"{place}/token",
            client_id="shop",
            client_secret=SecretStr("canary"),
        )
        row = McpServer(pk=1, name="shop", url=f"{place}/mcp")
        async with GuardedClient(allow=parse_allow("127.0.0.1:*")) as http:
            endpoint = await endpoint_of(row, credential, http)
        assert endpoint.headers == (("authorization", "Bearer tok"),)
    server.answers.clear()
    away = credential.model_copy(update={"client_id": "other"})
    async with GuardedClient(allow=parse_allow("127.0.0.1:*")) as http:
        with pytest.raises(McpError, match="needs an access token, and the request for one failed"):
            await endpoint_of(row, away, http)
