"""Reading web pages, friendly and hostile ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.base.loopback import Server, redirect, response, serving
from tests.pace import in_time
from tests.tools.connectors.calls import done, refusal
from tools.connectors import page_reader, web_fetch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tools.calls.result import ToolResult

HTML = ("Content-Type: text/html",)
PAGE = """<html><head><meta charset="{charset}"><title>Grüße &amp;
more</title></head><body><nav><a href="/x">Menu</a></nav><article><h1>About Ada</h1>
<p>She wrote the first program for a machine that was never built; see <a href="/notes">her
notes</a> and what others said of them later on. Größe!</p>
<ul><li>One engine</li><li>Two looms</li></ul>
<script>alert(1)</script></article><footer>Imprint</footer></body></html>"""


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


async def fetched(server: Server, path: str = "/", **arguments: Any) -> ToolResult:
    return await done("web_fetch", url=f"http://127.0.0.1:{server.port}{path}", **arguments)


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
async def test_a_page_is_read_as_markdown(server: Server, charset: str) -> None:
    server.answers["/ada"] = response(PAGE.format(charset=charset).encode(charset), headers=HTML)
    server.answers["/"] = redirect("/ada")
    text = (await fetched(server)).content
    base = f"http://127.0.0.1:{server.port}"
    assert text.startswith(f"# Grüße & more\nURL: {base}/ada\nHost: in the private network\n\n")
    assert "# About Ada" in text
    assert f"[her notes]({base}/notes)" in text.replace("\n", " ")
    assert "Größe!" in text
    assert "- One engine\n- Two looms" in text
    assert "alert" not in text


async def test_a_page_of_few_words_is_read_too(server: Server) -> None:
    server.answers["/"] = response(b"<html><title>x</title><body><b>Hi", headers=HTML)
    assert (await fetched(server)).content.endswith("Hi**")
    server.answers["/"] = response(b"<html><head></head></html>", headers=HTML)
    assert (await fetched(server)).content.endswith("(no text)")


async def test_a_long_text_is_read_in_parts(server: Server) -> None:
    text = "".join(f"{number:06} " for number in range(4_000))
    server.answers["/"] = response(text.encode(), headers=("Content-Type: text/plain",))
    first = (await fetched(server)).content
    assert "000000 000001" in first
    assert first.endswith("[The page has 28000 characters; read on with start=20000.]")
    rest = (await fetched(server, start=20_000)).content
    assert rest.endswith(text[-100:])
    assert "start=30000 is beyond its end" in (await fetched(server, start=30_000)).content


async def test_no_page_is_said(server: Server) -> None:
    server.answers["/"] = response(b"gone", status="404 Not Found")
    assert refusal(await fetched(server)) == (
        "The page cannot be read: the server answered 404 Not Found."
    )
    server.answers["/"] = response(b"%PDF\x00", headers=("Content-Type: application/pdf",))
    assert refusal(await fetched(server)).endswith("a file of 5 bytes, application/pdf.")


@pytest.mark.paced
@pytest.mark.parametrize(
    "page",
    [
        b"<html><body>" + b"<div>" * 400_000 + b"word",
        b"<html><body>" + b"<a " * 900_000,
        b"<html><body>" + b"<p>one<p>two <b>three" * 120_000,
        b"<html><body>" + b"<table><tr><td>" * 100_000 + b"word",
        b"<html><body><p>" + b"&#" + b"9" * 2_000_000 + b"; word",
        b"<html><body><p title='" + b"x" * 2_900_000,
        b"<html>" + b"\x00\xff\xfe" * 900_000,
        b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + b"<!ENTITY b '&a;&a;&a;'>" * 9 + b"]><html>&b;",
    ],
    ids=["divs", "tags", "inline", "tables", "digits", "attribute", "bytes", "entities"],
)
async def test_a_hostile_page_ends_in_time(server: Server, page: bytes) -> None:
    server.answers["/"] = response(page, headers=HTML)
    began = time.monotonic()
    result = await fetched(server)
    in_time(time.monotonic() - began, web_fetch.READ_SECONDS + 10)
    assert result.status == "ok"
    assert len(result.content) < web_fetch.PAGE_CHARACTERS + 500


async def test_a_reader_that_fails_gives_no_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_reader, "__file__", "/nowhere.py")
    assert await web_fetch._main_text("<p>x", "http://a.example/") == ("", "")
