"""Who posts a prompt: the process's own client past httpx, every other client by its own rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from agents.llm.errors import ModelConnectionError
from agents.llm.testing.wire_server import Options, WireServer, running_server
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import guarded_model_client
from heartbit_site.base.http.errors import BlockedAddressError
from tests.llm.raw_server import raw_server
from tests.llm.support import collect, complete, model

if TYPE_CHECKING:
    from agents.llm.client import ProviderClient


async def test_the_guarded_client_guards_what_the_adapters_send() -> None:
    async with running_server(Options()) as server, guarded_model_client() as guarded:
        with pytest.raises(BlockedAddressError):
            await collect(model(guarded, url=server.url))
        assert server.stats.requests == 0


async def test_a_url_that_cannot_be_read_is_an_error_of_the_base_url() -> None:
    async with guarded_model_client() as guarded:
        with pytest.raises(ModelConnectionError, match=r"cannot be called: .*; check the base URL"):
            await collect(model(guarded, url="http://a\x00b"))


async def test_the_guarded_client_posts_where_an_operator_allows_it() -> None:
    async with running_server(Options()) as server:
        allow = parse_allow(server.url.removeprefix("http://"))
        async with guarded_model_client(allow=allow) as guarded:
            assert (await complete(model(guarded, url=server.url))).message.text
        assert server.stats.answered == 1


async def test_a_redirect_is_followed_by_neither(client: ProviderClient, wire: WireServer) -> None:
    answer = f"HTTP/1.1 307 Elsewhere\r\nLocation: {wire.url}/v1\r\nContent-Length: 0\r\n\r\n"
    async with raw_server(answer.encode()) as server, httpx.AsyncClient() as plain:
        for each in (client, plain):
            with pytest.raises(Exception, match="HTTP 307"):
                await collect(model(each, url=server.url))
    assert wire.stats.requests == 0


async def test_a_compressed_error_page_costs_its_sentence_only(client: ProviderClient) -> None:
    head = (
        b"HTTP/1.1 503 Busy\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"
    )
    async with raw_server(head) as server:
        with pytest.raises(Exception, match="HTTP 503; try again later"):
            await collect(model(client, url=server.url))


async def test_a_server_that_closes_without_notice_loses_no_request(client: ProviderClient) -> None:
    answers = [b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n"] * 5
    async with raw_server(answers[0]) as server:
        for _ in answers:  # each needs a connection of its own: the last one is about to end
            with pytest.raises(Exception, match="HTTP 400"):
                await collect(model(client, url=server.url))
    assert len(server.requests) == len(answers)
