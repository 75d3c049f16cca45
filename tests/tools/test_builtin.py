"""The built-in tools, through the pipeline as a model calls them."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

import pytest

from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tests.base.loopback import Server, redirect, response, serving
from tests.tools.calls import call
from tools import agent_tools
from tools.calls.result import ToolResult
from tools.definitions.registry import Registry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOOLS = Registry()
TOOLS.discover([agent_tools])


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


async def done(name: str, *, server: Server | None = None, **arguments: object) -> ToolResult:
    allow = parse_allow(f"127.0.0.1:{server.port}" if server else "")
    async with GuardedClient(allow=allow) as http:
        result = await call(TOOLS, json.dumps(arguments), name=name, http=http)
    assert isinstance(result, ToolResult)
    return result


async def test_current_time_is_now_and_names_the_day() -> None:
    for zone in ("UTC", "Europe/Berlin", "Australia/Lord_Howe"):
        result = await done("current_time", time_zone=zone)
        text, _, rest = result.content.partition(" ")
        moment = datetime.datetime.fromisoformat(text)
        assert abs(moment - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(seconds=5)
        assert rest == f"({moment:%A}, time zone {zone})"
    assert (await done("current_time")).content.endswith("time zone UTC)")


@pytest.mark.parametrize(
    "zone", ["Europe/Berlinn", "../../etc/passwd", "", "/etc/localtime", "x" * 999]
)
async def test_an_unknown_time_zone_is_an_error(zone: str) -> None:
    result = await done("current_time", time_zone=zone)
    assert result.status == "error"
    assert result.content.startswith("UnknownTimeZoneError: There is no time zone")
    assert ("Europe/Berlin" in result.content) == (zone == "Europe/Berlinn")


async def test_calculate_answers_and_refuses() -> None:
    assert await done("calculate", expression="9 * 9") == ToolResult("81", "ok")
    result = await done("calculate", expression="9**9**9")
    assert result == ToolResult("CalculationError: The power is too large.", "error")
    assert (await done("calculate", expression="1" * 501)).status == "invalid"


async def test_http_get_shows_status_type_and_text(server: Server) -> None:
    server.answers["/a"] = response(
        "é".encode(), headers=("Content-Type: text/plain; charset=utf-8",)
    )
    server.answers["/b"] = redirect("/a")
    server.answers["/404"] = response(
        b'{"e":1}', status="404 Not Found", headers=("Content-Type: a/json",)
    )
    base = f"http://127.0.0.1:{server.port}"
    result = await done(
        "http_get", server=server, url=f"{base}/a", headers={"Accept": "text/plain"}
    )
    head = "HTTP 200 OK\nContent-Type: text/plain; charset=utf-8\nHost: in the private network"
    assert result == ToolResult(f"{head}\n\né", "ok")
    assert server.requests[0].headers["accept"] == "text/plain"
    result = await done("http_get", server=server, url=f"{base}/b")
    assert f"Final URL: {base}/a" in result.content
    result = await done("http_get", server=server, url=f"{base}/404")
    assert (result.status, result.content[:18]) == ("ok", "HTTP 404 Not Found")


@pytest.mark.parametrize("kind", ["application/json", "application/atom+xml", "Text/HTML"])
async def test_text_is_shown_whatever_its_type_is_called(server: Server, kind: str) -> None:
    server.answers["/"] = response(b"[1]", headers=(f"Content-Type: {kind}",))
    shown = await done("http_get", server=server, url=f"http://127.0.0.1:{server.port}/")
    assert shown.content.endswith("\n\n[1]")


async def test_binary_content_is_described(server: Server) -> None:
    server.answers["/"] = response(b"\x89PNG\x00", headers=("Content-Type: image/png",))
    server.answers["/none"] = response(b"")
    server.answers["/untyped"] = response(b"\x00\x01")
    base = f"http://127.0.0.1:{server.port}"
    for path, end in (("/", "(binary body of 5 bytes)"), ("/none", "(empty body)")):
        assert (await done("http_get", server=server, url=base + path)).content.endswith(end)
    assert "binary" in (await done("http_get", server=server, url=f"{base}/untyped")).content


async def test_http_request_sends_a_body_and_the_idempotency_key(server: Server) -> None:
    url = f"http://127.0.0.1:{server.port}/"
    await done("http_request", server=server, method="POST", url=url, json={"a": ["é"]})
    await done(
        "http_request",
        server=server,
        method="PUT",
        url=url,
        body="a=1",
        headers={"Content-Type": "application/x-www-form-urlencoded", "Idempotency-Key": "mine"},
    )
    first, second = server.requests
    assert (first.method, json.loads(first.content)) == ("POST", {"a": ["é"]})
    assert first.headers["content-type"] == "application/json"
    assert second.content == b"a=1"
    for request in (first, second):
        assert request.headers.get_list("idempotency-key") == [
            "00000000-0000-0000-0000-000000000001:1.0"
        ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"json": 1, "body": "x"}, "not both"),
        ({"headers": {"Host": "internal"}}, "'host' is set by the client"),
        ({"headers": {"transfer-encoding": "chunked"}}, "set by the client"),
        ({"headers": {"X": "a\r\nHost: b"}}, "LocalProtocolError"),
        ({"headers": {"X\r\nHost": "b"}}, "LocalProtocolError"),
        ({"headers": {"X": "\u20ac"}}, "HTTP cannot carry|LocalProtocolError"),
    ],
)
async def test_an_unusable_request_is_not_sent(
    server: Server, arguments: dict[str, object], sentence: str
) -> None:
    url = f"http://127.0.0.1:{server.port}/"
    result = await done("http_request", server=server, method="POST", url=url, **arguments)
    assert result.status == "error"
    assert any(part in result.content for part in sentence.split("|")), result.content
    assert server.requests == []


@pytest.mark.parametrize("name", ["http_get", "http_request"])
async def test_internal_addresses_are_out_of_reach(server: Server, name: str) -> None:
    arguments: dict[str, Any] = {"method": "POST"} if name == "http_request" else {}
    result = await done(name, url=f"http://localhost:{server.port}/", **arguments)
    assert result.status == "error"
    assert result.content.startswith("BlockedAddressError: ")
    assert server.connections == 0


@pytest.mark.parametrize("url", ["http://[::1", "http://a\x00b/"])
async def test_a_url_that_cannot_be_read_is_refused_without_a_traceback(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="tools"):
        result = await done("http_get", url=url)
    assert result.status == "error"
    assert result.content.startswith("InvalidURLError: The URL cannot be read: ")
    assert [
        record.exc_info for record in caplog.records if record.name == "tools.calls.pipeline"
    ] == [None]
