"""The wire server against our own adapters, which are tested on their own elsewhere."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from agents.llm.errors import (
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    StreamTruncatedError,
)
from agents.llm.factory import create
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Message,
    TextDelta,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import Profile

from .support import CLOCK, SEARCH, collect, complete

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx

    from agents.llm.protocol import ChatModel
    from agents.llm.testing.wire_server import WireServer

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
DELEGATE = ToolDefinition("delegate_task", "", {"type": "object", "properties": {}})


def make(client: httpx.AsyncClient, server: WireServer, provider: str) -> ChatModel:
    environ = {
        f"{provider.upper()}_BASE_URL": server.url,
        f"{provider.upper()}_API_KEY": "test",
    }
    return create(f"{provider}:m", client=client, environ=environ)


def ask(text: str, *more: Message, tools: bool = True) -> ChatRequest:
    offered = (SEARCH, CLOCK, DELEGATE) if tools else ()
    return ChatRequest("", (UserMessage(text), *more), offered, timeout_seconds=10)


async def stats(client: httpx.AsyncClient, server: WireServer) -> dict[str, Any]:
    answer: dict[str, Any] = (await client.get(f"{server.url}/stats")).json()
    return answer


@BOTH
async def test_calls_first_then_text(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    model = make(client, wire, provider)
    request = ask('[[calls: clock {}, search {"q": "]] é"}]] [[then: clock {"n": 1}]]')
    first = (await complete(model, request)).message
    assert [(call.name, json.loads(call.arguments)) for call in first.tool_calls] == [
        ("clock", {}),
        ("search", {"q": "]] é"}),
    ]
    results = tuple(ToolMessage(call.id, call.name, "r") for call in first.tool_calls)
    request = ChatRequest("", (*request.messages, first, *results), request.tools)
    second = (await complete(model, request)).message
    assert [call.name for call in second.tool_calls] == ["clock"]
    more = ToolMessage(second.tool_calls[0].id, "clock", "r")
    request = ChatRequest("", (*request.messages, second, more), request.tools)
    last = await complete(model, request)
    assert last.message.text == "Answered after 3 tool results."
    assert last.finish_reason == "stop"


@BOTH
async def test_a_delegation_carries_directives_for_the_sub_agents(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    model = make(client, wire, provider)
    tasks = [
        {"agent": "a", "task": "[[calls: clock {}]] [[text: A.]]"},
        {"agent": "b", "task": '[[calls: search {"q": "x"}]] [[text: B.]]'},
    ]
    text = f"Go. [[delegate: {json.dumps(tasks[0])}, {json.dumps(tasks[1])}]] [[text: All.]]"
    (call,) = (await complete(model, ask(text))).message.tool_calls
    assert call.name == "delegate_task"
    assert json.loads(call.arguments) == {"tasks": tasks}
    sub = await complete(model, ask(tasks[1]["task"]))
    assert sub.message.tool_calls[0].name == "search"


@BOTH
async def test_without_tools_on_offer_it_answers_in_text(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    answer = await complete(make(client, wire, provider), ask("[[calls: clock {}]]", tools=False))
    assert answer.message.text == "Hello from the wire server."


async def test_a_schema_gets_json_and_written_results_count(
    client: httpx.AsyncClient, wire: WireServer
) -> None:
    model = create(
        "compatible:m",
        client=client,
        environ={},
        base_url=wire.url,
        profile=Profile(tools="constrained_json"),
    )
    request = ask("[[calls: clock {}]] [[text: It is late.]]")
    first = (await complete(model, request)).message
    assert [call.name for call in first.tool_calls] == ["clock"]
    result = ToolMessage(first.tool_calls[0].id, "clock", "23:00")
    last = await complete(model, ChatRequest("", (*request.messages, first, result), request.tools))
    assert last.message == AssistantMessage("It is late.")


@BOTH
async def test_text_comes_in_pieces_with_thinking_before_it(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    model = make(client, wire, provider)
    events = await collect(model, ask("[[tokens: 20]] [[chunks: 5]] [[thinking: Hm.]]"))
    assert sum(isinstance(event, TextDelta) for event in events) == 5
    assert len((await complete(model, ask("[[thinking: Hm.]]"))).message.thinking) == 1


@BOTH
async def test_counters_agree_with_the_usage_the_client_saw(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    model = make(client, wire, provider)
    answers = [
        await complete(model, ask(text))
        for text in ("[[run: one]]", "[[run: one]]", "[[run: two]] [[calls: clock {}]]")
    ]
    counted = await stats(client, wire)
    assert counted["requests"] == counted["answered"] == 3
    assert counted["completion_tokens"] == sum(a.usage.output_tokens for a in answers)
    assert counted["prompt_tokens"] == sum(a.usage.input_tokens for a in answers)
    assert counted["runs"]["one"] == {
        "requests": 2,
        "completion_tokens": sum(a.usage.output_tokens for a in answers[:2]),
        "turns": {"0": 2},
    }
    await client.post(f"{wire.url}/reset")
    assert (await stats(client, wire))["requests"] == 0


@BOTH
async def test_faults_happen_as_often_as_asked(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    model = make(client, wire, provider)
    with pytest.raises(RateLimitedError) as caught:
        await complete(model, ask("[[error: 429 retry_after=2 times=1]]"))
    assert caught.value.retry_after == 2.0
    await complete(model, ask("[[error: 429 retry_after=2 times=1]]"))
    with pytest.raises(OverloadedError, match="503 Scripted page"):
        await complete(model, ask("[[error: 503 page=html]]"))
    with pytest.raises(OverloadedError):
        await complete(model, ask("[[event: overloaded_error]]"))
    with pytest.raises(StreamTruncatedError):
        await complete(model, ask("[[cut: 400]]"))
    assert (await stats(client, wire))["failed"] == 4


@BOTH
@pytest.mark.parametrize("where", ["headers", "stream"])
async def test_a_hang_ends_when_the_client_leaves(
    client: httpx.AsyncClient, wire: WireServer, provider: str, where: str
) -> None:
    request = ChatRequest("", (UserMessage(f"[[hang: {where}]]"),), timeout_seconds=0.1)
    with pytest.raises(ModelTimeoutError):
        await complete(make(client, wire, provider), request)
    async with asyncio.timeout(2):
        while (await stats(client, wire))["disconnected"] != 1:
            await asyncio.sleep(0)
    assert wire.stats.in_flight == 0


async def test_latency_and_spread_are_kept(client: httpx.AsyncClient, wire: WireServer) -> None:
    model = make(client, wire, "openai")
    loop = asyncio.get_running_loop()
    start = loop.time()
    arrived = []
    async for _event in model.stream(ask("[[latency: 60]] [[stream: 60]] [[chunks: 3]]")):
        arrived.append(loop.time() - start)
    assert arrived[0] >= 0.06
    assert arrived[-1] >= 0.11


async def test_connections_are_used_again(client: httpx.AsyncClient, wire: WireServer) -> None:
    model = make(client, wire, "openai")
    for _ in range(5):
        await complete(model, ask("hi"))
    assert len(wire.clients) == 1


@BOTH
async def test_requests_without_stream_are_answered_too(
    client: httpx.AsyncClient, wire: WireServer, provider: str
) -> None:
    path = "/v1/messages" if provider == "anthropic" else "/v1/chat/completions"
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "[[calls: clock {}]]"}],
        "tools": [{}],
    }
    answer = (await client.post(wire.url + path, json=body)).json()
    assert answer["model"] == "m"
    assert "clock" in json.dumps(answer)


@pytest.mark.parametrize("body", ["[]", "{", '{"messages": 5}', '{"messages": [{"role": "user"'])
async def test_a_request_it_cannot_read_is_refused(
    client: httpx.AsyncClient, wire: WireServer, body: str
) -> None:
    answer = await client.post(f"{wire.url}/v1/chat/completions", content=body)
    assert answer.status_code == 400
    assert (await client.get(f"{wire.url}/nowhere")).status_code == 404


@asynccontextmanager
async def own_process(*arguments: str) -> AsyncIterator[str]:
    command = [sys.executable, "-m", "agents.llm.testing.wire_server", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()
    assert process.returncode == 0


async def test_as_a_process_it_prints_its_url_and_keeps_a_ledger(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    async with own_process("--ledger", str(ledger), "--latency-ms", "1") as url:
        environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "test"}
        model = create("openai:m", client=client, environ=environ)
        first = await complete(model, ask("[[run: r1]] [[calls: clock {}]]"))
        result = ToolMessage(first.message.tool_calls[0].id, "clock", "r")
        both = ask("[[run: r1]] [[calls: clock {}]]", first.message, result)
        await asyncio.gather(complete(model, both), *(complete(model, ask("x")) for _ in range(9)))
        lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert len(lines) == 11
    assert sorted(line["turn"] for line in lines if line["run"] == "r1") == [0, 1]
    plain = [line for line in lines if line["run"] != "r1"]
    assert len({line["digest"] for line in plain}) == 1
    assert lines[0]["path"] == "/v1/chat/completions"


async def test_the_client_has_no_hidden_limit_of_connections(
    client: httpx.AsyncClient, wire: WireServer
) -> None:
    model = make(client, wire, "openai")
    waiting = [asyncio.create_task(complete(model, ask("[[hang: headers]]"))) for _ in range(150)]
    async with asyncio.timeout(20):
        while wire.stats.in_flight < 150:
            await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    async with asyncio.timeout(20):
        while wire.stats.disconnected < 150:
            await asyncio.sleep(0)
