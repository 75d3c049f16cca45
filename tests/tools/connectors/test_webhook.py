"""Calls of a service with a credential: where it is sent, and where it is not."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook

from heartbit_site.base.credentials import (
    ApiKeyCredential,
    BasicCredential,
    BearerCredential,
    OAuthClientCredential,
    SigningCredential,
)
from tests.base.loopback import Server, redirect, response, serving
from tests.tools.connectors.calls import CANARY, done, refusal
from tools.credentials import oauth

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from heartbit_site.base.credentials import CredentialType
    from tools.calls.result import ToolResult

SECRET = SecretStr(CANARY)
SIGNING = "whsec_" + base64.b64encode(b"a signing secret of ours").decode()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    oauth._tokens.clear()
    yield
    oauth._tokens.clear()


async def called(
    server: Server,
    target: CredentialType | None = None,
    path: str = "/api/x",
    signing: str = "",
    **arguments: Any,
) -> ToolResult:
    values: dict[str, CredentialType] = {}
    if target is not None:
        values["target"] = target
    if signing:
        values["signing"] = SigningCredential(secret=SecretStr(signing))
    url = path if "://" in path else f"http://127.0.0.1:{server.port}{path}"
    return await done("webhook", credentials=values, **{"method": "POST", "url": url, **arguments})


def bearer(server: Server) -> BearerCredential:
    return BearerCredential(url=f"http://127.0.0.1:{server.port}/api", token=SECRET)


async def test_each_type_has_its_header(server: Server) -> None:
    url = f"http://127.0.0.1:{server.port}/api"
    pair = base64.b64encode(f"ada:{CANARY}".encode()).decode()
    targets: list[tuple[CredentialType, str, str]] = [
        (bearer(server), "authorization", f"Bearer {CANARY}"),
        (ApiKeyCredential(url=url, header="X-Key", key=SECRET), "x-key", CANARY),
        (
            BasicCredential(url=url, username="ada", password=SECRET),
            "authorization",
            f"Basic {pair}",
        ),
    ]
    for target, header, value in targets:
        result = await called(
            server, target, json={"a": "é"}, headers={"Authorization": "mine", "x-key": "mine"}
        )
        assert result.status == "ok", result.content
        assert server.requests[-1].headers.get_list(header) == [value]
    assert json.loads(server.requests[-1].content) == {"a": "é"}


async def test_a_credential_goes_only_where_it_was_entered_for(server: Server) -> None:
    async with serving() as other:
        for path in (
            "/other",
            "/api/../other",
            "/api/%2e%2e/other",
            "/apix",
            f"http://127.0.0.1:{other.port}/api",
            f"http://localhost:{server.port}/api",
            f"https://127.0.0.1:{server.port}/api",
            f"http://x@127.0.0.1:{server.port}/api",
            "http://[::1/api",
        ):
            said = refusal(await called(server, bearer(server), path))
            assert "is only sent to URLs below" in said, path
        assert other.requests == []
    assert server.requests == []


@pytest.mark.parametrize("place", ["/other", "/api/y", "http://localhost:{other}/"])
async def test_no_redirect_is_followed(server: Server, place: str) -> None:
    async with serving() as other:
        location = place.format(other=other.port)
        server.answers["/api/x"] = redirect(location, "307 Temporary Redirect")
        result = await called(server, bearer(server), signing=SIGNING)
        assert result.content.startswith(f"HTTP 307 Temporary Redirect\nLocation: {location}")
        assert other.requests == []
    assert len(server.requests) == 1


async def test_a_signature_is_the_standard_one(server: Server) -> None:
    await called(server, signing=SIGNING, json={"type": "order", "é": 1})
    await called(server, signing=SIGNING, method="GET")
    for request in server.requests:
        Webhook(SIGNING).verify(request.content, dict(request.headers), json_parse=False)
    assert "authorization" not in server.requests[0].headers
    assert server.requests[0].headers["webhook-id"].startswith("msg_")


async def test_a_secret_that_cannot_sign_is_said(server: Server) -> None:
    said = refusal(await called(server, signing="whsec_x"))
    assert "is not base64" in said
    assert server.requests == []


async def test_a_server_that_repeats_a_secret_is_not_quoted(server: Server) -> None:
    pair = base64.b64encode(f"ada:{CANARY}".encode()).decode()
    echo = f"Bearer {CANARY}, Basic {pair}, {SIGNING}".encode()
    server.answers["/api/x"] = response(echo, headers=("Content-Type: text/plain",))
    url = f"http://127.0.0.1:{server.port}/api"
    target = BasicCredential(url=url, username="ada", password=SECRET)
    text = (await called(server, target, signing=SIGNING)).content
    assert pair not in text
    assert SIGNING not in text
    assert text.endswith("Bearer [secret], Basic [secret], [secret]")


async def test_a_token_that_no_header_carries_is_refused_unsent(server: Server) -> None:
    for bad in (f"{CANARY}\r\nX: y", f"{CANARY}é"):
        target = bearer(server).model_copy(update={"token": SecretStr(bad)})
        assert "characters that HTTP cannot carry" in refusal(await called(server, target))
    assert server.requests == []


def client(server: Server, **other: Any) -> OAuthClientCredential:
    base = f"http://127.0.0.1:{server.port}"
    fields = {"url": f"{base}/api", "token_url": f"{base}/token", "client_id": "a:b"}
    return OAuthClientCredential(**{**fields, "client_secret": SECRET, "scope": "x y", **other})


async def test_a_token_is_fetched_once_and_kept(server: Server) -> None:
    token = b'{"access_token": "t0k-4711", "token_type": "bearer", "expires_in": 3600}'
    server.answers["/token"] = response(token)
    server.answers["/api/x"] = response(b"you sent t0k-4711", headers=("Content-Type: text/plain",))
    for _ in range(2):
        result = await called(server, client(server))
        assert result.content.endswith("you sent [secret]")
    asked, first, second = server.requests
    pair = base64.b64encode(f"a%3Ab:{CANARY}".encode()).decode()
    assert asked.headers["authorization"] == f"Basic {pair}"
    assert asked.content == b"grant_type=client_credentials&scope=x+y"
    assert {one.headers["authorization"] for one in (first, second)} == {"Bearer t0k-4711"}
    await called(server, client(server, scope="z"))
    assert [one.url.path for one in server.requests[3:]] == ["/token", "/api/x"]


async def test_a_refused_or_expired_token_is_fetched_again(server: Server) -> None:
    server.answers["/token"] = response(b'{"access_token": "t0k-4711", "expires_in": 3600}')
    server.answers["/api/x"] = response(b"", status="401 Unauthorized")
    for _ in range(2):
        assert "HTTP 401" in (await called(server, client(server))).content
    assert [one.url.path for one in server.requests] == ["/token", "/api/x"] * 2
    server.answers["/api/x"] = response(b"")
    server.answers["/token"] = response(b'{"access_token": "t0k-4712", "expires_in": 5}')
    for _ in range(2):
        await called(server, client(server))
    assert [one.url.path for one in server.requests[4:]] == ["/token", "/api/x"] * 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (response(f"no: {CANARY}".encode(), status="401 Unauthorized"), "(HTTP 401)"),
        (response(b"", status="302 Found", headers=("Location: /t",)), "(HTTP 302)"),
        (response(b"<html>"), "returned no access token"),
        (response(b'{"access_token": 5}'), "returned no access token"),
        (response(b'{"access_token": "a\\nb"}'), "that HTTP cannot carry"),
        (response(b'{"access_token": "a", "token_type": "mac"}'), "another type"),
    ],
)
async def test_a_server_without_a_token_is_said(server: Server, answer: bytes, words: str) -> None:
    server.answers["/token"] = answer
    assert words in refusal(await called(server, client(server)))
    assert {one.url.path for one in server.requests} == {"/token"}


async def test_a_second_form_of_client_login_is_tried(server: Server) -> None:
    server.answers["/token"] = response(b"{}", status="401 Unauthorized")
    await called(server, client(server))
    first, second = server.requests
    assert "authorization" in first.headers
    assert "authorization" not in second.headers
    assert second.content.endswith(f"client_id=a%3Ab&client_secret={CANARY}".encode())
