"""Refusals before the stream: one error each, with a sentence that helps and no key in it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import httpx
import pytest

from agents.llm.adapters.endpoint import Timeouts
from agents.llm.adapters.failures import retry_after
from agents.llm.errors import (
    AnswerTooLargeError,
    AuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    RequestRejectedError,
    StreamTruncatedError,
)

from .raw_server import STREAM, RawServer, hang_after, raw_server
from .samples import OPENAI_STREAM, chunk, sse
from .support import HELLO, canned, collect, complete, model

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (302, RequestRejectedError),
        (400, RequestRejectedError),
        (401, AuthenticationError),
        (402, AuthenticationError),
        (403, AuthenticationError),
        (404, ModelNotFoundError),
        (408, ModelTimeoutError),
        (413, RequestRejectedError),
        (422, RequestRejectedError),
        (429, RateLimitedError),
        (500, OverloadedError),
        (503, OverloadedError),
        (504, OverloadedError),
        (529, OverloadedError),
    ],
)
async def test_each_status_has_its_error(
    provider: str, status: int, expected: type[ModelError]
) -> None:
    body = b'{"error": {"type": "x", "message": "because sk-secret"}}'
    with pytest.raises(expected) as caught:
        await collect(canned(body, provider=provider, status=status, headers=JSON))
    sentence = str(caught.value)
    assert type(caught.value) is expected
    assert sentence.startswith(f"{provider}:model-x at 127.0.0.1:9 ")
    assert "sk-secret" not in sentence
    assert sentence.endswith(".")


async def test_a_refused_key_is_named_by_its_variable() -> None:
    with pytest.raises(AuthenticationError, match="SOME_API_KEY"):
        await collect(canned(b"{}", status=401, headers=JSON))


async def test_no_credit_is_not_a_rate_limit() -> None:
    body = b'{"error": {"code": "insufficient_quota", "message": "You exceeded your quota."}}'
    with pytest.raises(AuthenticationError, match="credit"):
        await collect(canned(body, status=429, headers=JSON))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("30", 30.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("-5", 0.0),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("Fri, 31 Dec 99999999999 23:59:59 GMT", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date(value: str, expected: float | None) -> None:
    now = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
    assert retry_after({"retry-after": value}, now=now) == expected


def test_retry_after_in_milliseconds_wins() -> None:
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25


@pytest.mark.parametrize("status", [429, 503])
async def test_the_wait_the_server_names_travels_with_the_error(status: int) -> None:
    headers = {**JSON, "retry-after": "7"}
    with pytest.raises((RateLimitedError, OverloadedError)) as caught:
        await collect(canned(b"{}", status=status, headers=headers))
    error = caught.value
    assert isinstance(error, RateLimitedError | OverloadedError)
    assert error.retry_after == 7.0


async def test_geminis_wait_is_read_from_the_body() -> None:
    body = b"""[{"error": {"code": 429, "message": "Quota exceeded.", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "32.5s"}]}}]"""
    with pytest.raises(RateLimitedError) as caught:
        await collect(canned(body, status=429, headers=JSON))
    assert caught.value.retry_after == 32.5


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html><title>502 Bad\nGateway</title>", 'an HTML page titled "502 Bad Gateway"'),
        (b"<!doctype html><html><body>oops", "an HTML page"),
        (b"upstream\x00 \xff failed", "upstream\ufffd \ufffd failed"),
        (b"", "HTTP 502;"),
        (b'[{"error": {"message": "from Google"}}]', "from Google"),
        (b'{"detail": "from a proxy"}', "from a proxy"),
        (b'{"error": {"message": "x", "metadata": {"raw": "upstream said"}}}', "upstream said"),
        (b"y" * 100_000, "yyy..."),
    ],
)
async def test_any_error_body_becomes_a_short_sentence(body: bytes, said: str) -> None:
    with pytest.raises(OverloadedError) as caught:
        await collect(canned(body, status=502, headers={"content-type": "text/html"}))
    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


async def test_a_web_page_instead_of_a_stream_says_so() -> None:
    page = {"content-type": "text/html; charset=utf-8"}
    with pytest.raises(StreamTruncatedError, match=r"text/html.*base URL"):
        await collect(canned(b"<html>", headers=page))


async def test_an_error_object_instead_of_a_stream_is_that_error() -> None:
    body = b'{"error": {"type": "rate_limit_error", "message": "slow"}}'
    with pytest.raises(RateLimitedError, match="slow"):
        await collect(canned(body, headers=JSON))


async def test_a_compressed_stream_is_refused() -> None:
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    with pytest.raises(StreamTruncatedError, match="gzip"):
        await collect(canned(b"x", headers=headers))


async def test_a_very_large_answer_is_cut_off_and_not_worth_another_try() -> None:
    piece = sse(chunk({"content": "x" * 1000}))
    with pytest.raises(AnswerTooLargeError, match="more than 20000 bytes") as caught:
        await collect(canned(*[piece] * 50, max_bytes=20_000))
    assert not caught.value.retryable


async def test_an_answer_with_thousands_of_calls_is_refused() -> None:
    def calls(number: int) -> list[bytes]:
        one = {"function": {"name": "f", "arguments": "{}"}}
        deltas = [{"index": n, "id": f"c{n}", **one} for n in range(number)]
        end = sse(chunk({}, finish="tool_calls"))
        return [sse(chunk({"tool_calls": deltas})), end, b"data: [DONE]\n\n"]

    assert await collect(canned(*calls(10_000)))
    with pytest.raises(AnswerTooLargeError, match="more than 10000 tool calls"):
        await collect(canned(*calls(10_001)))


async def test_an_event_of_many_small_values_is_not_parsed() -> None:
    event = b'data: {"choices": [' + b"[]," * 100_000 + b"[]]}\n\n"
    with pytest.raises(AnswerTooLargeError, match="more than 100000 values"):
        await collect(canned(event))


async def test_a_redirect_is_not_followed_even_by_a_client_that_does() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(307, headers={"location": "http://elsewhere.example/v1"})

    transport = httpx.MockTransport(answer)
    async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
        with pytest.raises(RequestRejectedError, match="HTTP 307 instead of a model's answer"):
            await collect(model(client))
    assert len(seen) == 1


async def test_one_endless_line_is_cut_off() -> None:
    with pytest.raises(StreamTruncatedError, match="more than 20000 bytes"):
        await collect(canned(*[b"data: " + b"x" * 5000] * 50, max_bytes=20_000))


async def test_a_server_that_does_not_listen(client: httpx.AsyncClient) -> None:
    async with raw_server(b"") as server:
        url = server.url
    with pytest.raises(ModelConnectionError, match=r"could not be reached.*base URL"):
        await collect(model(client, url=url))


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-T"], ids=["nothing", "half"])
async def test_a_server_that_hangs_up_before_its_answer(
    client: httpx.AsyncClient, sent: bytes
) -> None:
    async with raw_server(sent) as server:
        with pytest.raises(ModelConnectionError):
            await collect(model(client, url=server.url))


async def test_a_server_that_does_not_speak_http(client: httpx.AsyncClient) -> None:
    async with raw_server(b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as server:
        with pytest.raises(ModelConnectionError):
            await collect(model(client, url=server.url))


async def test_an_impossible_address(client: httpx.AsyncClient) -> None:
    with pytest.raises(ModelConnectionError):
        await collect(model(client, url="http://127.0.0.1:99999"))


async def _hangs(
    client: httpx.AsyncClient, sent: bytes, *, timeouts: Timeouts, whole: float = 20
) -> str:
    server: RawServer
    async with raw_server(hang_after(sent, lambda: server)) as server:
        chat_model = model(client, url=server.url, timeouts=timeouts)
        request = type(HELLO)("", HELLO.messages, timeout_seconds=whole)
        with pytest.raises(ModelTimeoutError) as caught:
            await collect(chat_model, request)
        async with asyncio.timeout(5):
            await server.client_gone.wait()
    return str(caught.value)


async def test_silence_before_the_answer_is_a_timeout(client: httpx.AsyncClient) -> None:
    said = await _hangs(client, b"", timeouts=Timeouts(0.05, 20))
    assert "did not begin to answer within 0.05 seconds" in said


async def test_silence_in_the_middle_is_a_timeout(client: httpx.AsyncClient) -> None:
    sent = STREAM + OPENAI_STREAM[:300]
    said = await _hangs(client, sent, timeouts=Timeouts(20, 0.05))
    assert "fell silent for 0.05 seconds" in said


async def test_the_whole_call_has_a_limit_too(client: httpx.AsyncClient) -> None:
    sent = STREAM + OPENAI_STREAM[:300]
    said = await _hangs(client, sent, timeouts=Timeouts(20, 20), whole=0.05)
    assert "was not done within 0.05 seconds" in said


async def test_a_server_that_trickles_for_ever_meets_the_whole_limit(
    client: httpx.AsyncClient,
) -> None:
    async def trickle(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        while not writer.is_closing():
            writer.write(b": still here\n\n")
            await asyncio.sleep(0.01)

    async with raw_server(trickle) as server:
        request = type(HELLO)("", HELLO.messages, timeout_seconds=0.1)
        with pytest.raises(ModelTimeoutError, match="was not done"):
            await collect(model(client, url=server.url, timeouts=Timeouts(5, 5)), request)


async def test_an_error_body_that_hangs_does_not_hide_the_error(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.llm.adapters.exchange._ERROR_BODY_SECONDS", 0.05)
    server: RawServer
    head = b"HTTP/1.1 529 Busy\r\nContent-Length: 500\r\n\r\nso busy"
    async with raw_server(hang_after(head, lambda: server)) as server:
        with pytest.raises(OverloadedError, match="so busy"):
            await collect(model(client, url=server.url))


async def test_a_server_that_leaves_the_connection_open_after_the_end_is_not_waited_for(
    client: httpx.AsyncClient,
) -> None:
    server: RawServer
    async with raw_server(hang_after(STREAM + OPENAI_STREAM, lambda: server)) as server:
        async with asyncio.timeout(5):
            answer = await complete(model(client, url=server.url))
            await server.client_gone.wait()
    assert answer.message.text == "Grüße 🐝 "


@pytest.mark.parametrize("sent", [b"", STREAM, STREAM + OPENAI_STREAM[:300]])
async def test_cancelling_the_task_closes_the_connection_at_once(
    client: httpx.AsyncClient, sent: bytes
) -> None:
    server: RawServer
    async with raw_server(hang_after(sent, lambda: server)) as server:
        task = asyncio.create_task(collect(model(client, url=server.url)))
        await server.request_seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(1):
            await server.client_gone.wait()


async def test_leaving_the_loop_early_and_closing_the_stream_closes_the_connection(
    client: httpx.AsyncClient,
) -> None:
    server: RawServer
    async with raw_server(hang_after(STREAM + OPENAI_STREAM[:300], lambda: server)) as server:
        stream = model(client, url=server.url).stream(HELLO)
        async for _event in stream:
            break
        await stream.aclose()  # type: ignore[attr-defined]
        async with asyncio.timeout(1):
            await server.client_gone.wait()
