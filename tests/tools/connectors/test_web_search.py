"""Searching the web: the formats of Brave and SearXNG, from a server of our own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from tests.base.loopback import response, serving
from tests.tools.connectors.calls import CANARY, done, refusal
from tools.connectors.web_search import BraveCredential, SearxngCredential

if TYPE_CHECKING:
    from heartbit_site.base.credentials import CredentialType

BRAVE, SEARXNG = "/res/v1/web/search?q=ada&count=2", "/search?q=ada&format=json"
FOUND = [
    {
        "title": "Ada &amp; <strong>Co</strong>",
        "url": "https://example.org/ada",
        "description": "The <strong>first</strong>\nprogrammer&#39;s page",
        "content": "The first programmer's page",
    },
    {"title": "script", "url": "javascript:alert(1)", "description": "no"},
    {"title": "no address"},
    "nothing",
    {"title": None, "url": "https://example.org/b"},
    {"title": "third", "url": "https://example.org/c"},
]
SHOWN = [
    {
        "title": "Ada & Co",
        "url": "https://example.org/ada",
        "snippet": "The first programmer's page",
    },
    {"title": "", "url": "https://example.org/b", "snippet": ""},
]


def engine(kind: str, port: int) -> dict[str, CredentialType]:
    base = f"http://127.0.0.1:{port}"
    if kind == "brave":
        return {"engine": BraveCredential(url=f"{base}/res/v1", key=SecretStr(CANARY))}
    return {"engine": SearxngCredential(url=f"{base}/")}


@pytest.mark.parametrize("kind", ["brave", "searxng"])
async def test_results_have_title_url_and_snippet(kind: str) -> None:
    brave = {"type": "search", "web": {"type": "search", "results": FOUND}}
    async with serving() as server:
        server.answers[BRAVE] = response(json.dumps(brave).encode())
        server.answers[SEARXNG] = response(json.dumps({"query": "ada", "results": FOUND}).encode())
        result = await done(
            "web_search", credentials=engine(kind, server.port), query="ada", count=2
        )
    assert json.loads(result.content) == SHOWN
    (request,) = server.requests
    assert request.headers.get("x-subscription-token") == (CANARY if kind == "brave" else None)


async def test_a_period_is_passed_on() -> None:
    async with serving() as server:
        for kind in ("brave", "searxng"):
            credentials = engine(kind, server.port)
            await done("web_search", credentials=credentials, query="a b&c", period="week")
    first, second = server.requests
    assert dict(first.url.params) == {"q": "a b&c", "count": "10", "freshness": "pw"}
    assert dict(second.url.params) == {"q": "a b&c", "format": "json", "time_range": "week"}


@pytest.mark.parametrize(
    ("kind", "answer", "words"),
    [
        ("brave", response(b"{}"), "Brave returned no list of results: check the URL"),
        ("brave", response(b'{"web": {"results": {}}}'), "returned no list of results"),
        ("brave", response(b"[" * 100_000), "Brave returned JSON that cannot be read"),
        ("brave", response(b"\xff\x00"), "Brave returned JSON that cannot be read"),
        (
            "brave",
            response(
                f'{{"error": {{"detail": "the token {CANARY} is wrong"}}}}'.encode(),
                status="422 Unprocessable Entity",
            ),
            "Brave refuses the request: 422 Unprocessable Entity: the token [secret] is wrong.",
        ),
        ("brave", response(b"", status="429 Too Many Requests"), "429 Too Many Requests"),
        (
            "brave",
            response(b"", status="302 Found", headers=("Location: http://127.0.0.1/",)),
            "302 Found",
        ),
        ("searxng", response(b"", status="403 Forbidden"), "allow the format json"),
        ("searxng", response(b"<html>"), "SearXNG returned JSON that cannot be read"),
        ("searxng", response(b'"x"'), "returned no list of results"),
    ],
)
async def test_other_answers_become_a_sentence(kind: str, answer: bytes, words: str) -> None:
    async with serving() as server:
        server.answers[BRAVE] = server.answers[SEARXNG] = answer
        credentials = engine(kind, server.port)
        result = await done("web_search", credentials=credentials, query="ada", count=2)
    assert words in refusal(result)


async def test_nothing_found_is_an_empty_list() -> None:
    async with serving() as server:
        server.answers[BRAVE] = response(b'{"type": "search", "query": {}}')
        credentials: dict[str, Any] = engine("brave", server.port)
        result = await done("web_search", credentials=credentials, query="ada", count=2)
    assert (result.status, result.content) == ("ok", "[]")
