"""Adapters that learn from a server's refusal."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agents.llm.adapters.openai import OpenAIModel
from agents.llm.adapters.plain_tools import with_plain_tools
from agents.llm.errors import RequestRejectedError, StreamTruncatedError
from agents.llm.messages import AssistantMessage, ToolCall, ToolDefinition, ToolMessage, UserMessage
from agents.llm.profiles import Profile
from agents.llm.testing.answers import Answer
from agents.llm.testing.dialects import anthropic_events, openai_events
from tests.pace import within

from .raw_server import STREAM, raw_server
from .support import CLOCK, HELLO, complete, model

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable

    import httpx

Body = dict[str, Any]

FIND = ToolDefinition(
    "find",
    "Find by id or name.",
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "anyOf": [{"required": ["id"]}, {"properties": {"name": {"type": "string"}}}],
    },
)
QUERY = ToolDefinition(
    "query",
    "OData.",
    {
        "type": "object",
        "properties": {"$top": {"type": "integer"}, "_top": {"type": "integer"}},
        "required": ["$top"],
    },
)


@asynccontextmanager
async def server(
    refuse: Callable[[Body], Body | str | None], *events: bytes
) -> AsyncIterator[tuple[str, list[Body]]]:
    """Yield the URL of a server that refuses some requests with 400, and the bodies it got."""
    bodies: list[Body] = []

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bodies.append(json.loads(seen.requests[-1]))
        if (refusal := refuse(bodies[-1])) is None:
            writer.write(STREAM + b"".join(events))
            return
        error = {"message": refusal} if isinstance(refusal, str) else refusal
        text = json.dumps({"error": error}).encode()
        head = f"HTTP/1.1 400 Bad\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + text)

    async with raw_server(script) as seen:
        yield seen.url, bodies


def answer(*calls: tuple[str, dict[str, Any]]) -> Answer:
    return Answer("1", "m", "", () if calls else ("Hello",), calls, 5, 3)


@pytest.mark.parametrize(
    ("field", "refusal", "asked", "profile"),
    [
        (
            "stream_options",
            "Extra inputs are not permitted, field: 'stream_options'",
            HELLO,
            Profile(),
        ),
        (
            "stream_options",
            {
                "message": {
                    "detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]
                }
            },
            HELLO,
            Profile(),
        ),
        (
            "max_tokens",
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            HELLO,
            Profile(),
        ),
        (
            "temperature",
            "'temperature' does not support 0.5 with this model.",
            replace(HELLO, temperature=0.5),
            Profile(),
        ),
        (
            "tool_choice",
            "tool_choice is not supported by this model",
            replace(HELLO, tools=(CLOCK,), tool_choice="required"),
            Profile(),
        ),
        (
            "reasoning_effort",
            "Unrecognized request argument supplied: reasoning_effort",
            replace(HELLO, tools=(CLOCK,), reasoning_effort="low"),
            Profile(tools_reasoning_effort="none"),
        ),
    ],
)
async def test_a_field_that_a_server_refuses_is_sent_once(
    client: httpx.AsyncClient, field: str, refusal: Body | str, asked: Any, profile: Profile
) -> None:
    refuse = lambda body: refusal if field in body else None  # noqa: E731
    async with server(refuse, *openai_events(answer())) as (url, bodies):
        adapter = model(client, url=url, profile=profile)
        for _ in range(2):
            assert (await complete(adapter, asked)).message.text == "Hello"
    assert [field in body for body in bodies] == [True, False, False]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_tool_that_a_strict_provider_refuses_is_sent_plainly_and_called_by_its_own_names(
    client: httpx.AsyncClient, provider: str
) -> None:
    def schemas(body: Body) -> list[Body]:
        tools = [tool.get("function", tool) for tool in body["tools"]]
        return [tool.get("parameters") or tool["input_schema"] for tool in tools]

    def refuse(body: Body) -> str | None:
        for number, schema in enumerate(schemas(body)):
            odd = any(not re.fullmatch("[a-zA-Z0-9_.-]{1,64}", p) for p in schema["properties"])
            if odd or "anyOf" in schema:
                return f"tools.{number}.custom.input_schema: not supported"
        return None

    events = openai_events if provider == "openai" else anthropic_events
    called = events(answer(("query", {"_top_2": 3}), ("find", {"name": "x"})))
    before = AssistantMessage("", (ToolCall("c1", "query", '{"$top": 1}'),))
    asked = replace(
        HELLO,
        tools=(CLOCK, FIND, QUERY),
        messages=(UserMessage("?"), before, ToolMessage("c1", "query", "none")),
    )
    async with server(refuse, *called) as (url, bodies):
        adapter = model(client, provider=provider, url=url)
        calls = (await complete(adapter, asked)).message.tool_calls
        await complete(adapter, asked)
    assert len(bodies) == 3
    assert [json.loads(call.arguments) for call in calls] == [{"$top": 3}, {"name": "x"}]
    _, find, query = schemas(bodies[-1])
    assert find["properties"] == {"id": {"type": "integer"}, "name": {"type": "string"}}
    assert query == {
        "type": "object",
        "properties": {"_top_2": {"type": "integer"}, "_top": {"type": "integer"}},
        "required": ["_top_2"],
    }
    sent = json.dumps(bodies[-1])
    assert "_top_2 is $top" in sent
    assert "have to fit" in sent
    assert sent.count("$top") == 1  # the earlier call has the name that is sent


@pytest.mark.paced
def test_a_tool_of_thousands_of_odd_names_is_made_plain_at_once() -> None:
    properties = {chr(0x4E00 + number): {"type": "string"} for number in range(9_000)}
    tool = replace(QUERY, parameters={"type": "object", "properties": properties})
    with within(1):
        plain = with_plain_tools(replace(HELLO, tools=(tool,)))
    assert len(plain.request.tools[0].parameters["properties"]) == 9_000


async def test_a_refusal_that_cannot_be_adapted_to_names_the_tool(
    client: httpx.AsyncClient,
) -> None:
    refuse = lambda _: "tools.1.custom.input_schema: JSON schema is invalid, see tools[9]"  # noqa: E731
    async with server(refuse) as (url, bodies):
        with pytest.raises(RequestRejectedError) as refused:
            await complete(model(client, url=url), replace(HELLO, tools=(CLOCK, CLOCK)))
    assert "tools.1 (the tool clock).custom" in str(refused.value)
    assert "see tools[9]" in str(refused.value)
    assert len(bodies) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        "Invalid schema for function 'set_temperature': 'anyOf' is not permitted at the top",
        "tools.0.parameters.properties.temperature: 'anyOf' is not supported",
    ],
)
async def test_a_refused_tool_named_after_a_field_does_not_cost_the_field(
    client: httpx.AsyncClient, refusal: str
) -> None:
    tool = replace(FIND, name="set_temperature")
    asked = replace(HELLO, temperature=0.5, tools=(tool,))

    def refuse(body: Body) -> str | None:
        schema = body["tools"][0]["function"]["parameters"]
        return refusal if "anyOf" in schema else None

    async with server(refuse, *openai_events(answer())) as (url, bodies):
        await complete(model(client, url=url), asked)
    assert [body.get("temperature") for body in bodies] == [0.5, 0.5]


async def test_nothing_is_learned_from_a_refusal_that_the_change_did_not_mend(
    client: httpx.AsyncClient,
) -> None:
    asked, profile = replace(HELLO, temperature=0.5), Profile()
    async with server(lambda _: "temperature is unsupported, ask support") as (url, bodies):
        adapter = model(client, url=url, profile=profile)
        with pytest.raises(RequestRejectedError, match="ask support"):
            await complete(adapter, asked)
    assert ["temperature" in body for body in bodies] == [True, False]
    assert isinstance(adapter, OpenAIModel)
    assert adapter.profile == profile


async def test_a_field_that_is_refused_for_its_value_is_not_dropped(
    client: httpx.AsyncClient,
) -> None:
    refuse = lambda _: "temperature must be at most 2"  # noqa: E731
    async with server(refuse) as (url, bodies):
        with pytest.raises(RequestRejectedError, match="at most 2"):
            await complete(model(client, url=url), replace(HELLO, temperature=3.0))
    assert len(bodies) == 1


async def test_a_refusal_of_the_model_s_own_call_may_be_tried_again(
    client: httpx.AsyncClient,
) -> None:
    refusal = {"message": "Failed to call a function.", "code": "tool_use_failed"}
    async with server(lambda _: refusal) as (url, _):
        with pytest.raises(StreamTruncatedError, match="the tool call that the model wrote") as hit:
            await complete(model(client, url=url))
    assert hit.value.retryable
