"""What the bridge sends: the bytes at the wire, and what it keeps from a provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents.llm.errors import StreamTruncatedError
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import Profile
from tests.llm.bridge_support import bridged, needs_extra
from tests.llm.raw_server import STREAM, raw_server
from tests.llm.samples import CALLS, OPENAI_STREAM, chunk, sse
from tests.llm.support import CLOCK, SEARCH, complete

if TYPE_CHECKING:
    import httpx

import pytest

pytestmark = needs_extra

REASONED = Thinking(
    "together",
    {"type": "thinking", "content": "Hm", "id": "reasoning_content", "provider_name": "together"},
)
TALK = (
    UserMessage("What now?"),
    AssistantMessage(
        "Let me see.",
        (ToolCall("call_a", "search", '{"q": 1}'), ToolCall("b:c", "clo ck", "not json")),
        (REASONED, Thinking("anthropic", {"type": "thinking", "thinking": "secret"})),
    ),
    ToolMessage("call_a", "search", "found"),
    ToolMessage("b:c", "clo ck", "no such tool", is_error=True),
    UserMessage("And?"),
)


async def sent(
    client: httpx.AsyncClient, request: ChatRequest, profile: Profile | None = None
) -> dict[str, Any]:
    """Return the body a request becomes."""
    async with raw_server(STREAM + OPENAI_STREAM) as server:
        await complete(bridged(client, server.url, profile=profile), request)
    body: dict[str, Any] = json.loads(server.requests[0])
    return body


async def test_given_a_conversation_then_every_message_is_sent_in_order(
    client: httpx.AsyncClient,
) -> None:
    body = await sent(client, ChatRequest("Be brief.", TALK, tools=(SEARCH, CLOCK)))
    system, user, answer, found, failed, more = body["messages"]
    assert (system["role"], system["content"]) == ("system", "Be brief.")
    assert (user["role"], user["content"]) == ("user", "What now?")
    assert [call["function"]["name"] for call in answer["tool_calls"]] == ["search", "clo_ck"]
    assert answer["tool_calls"][0]["function"]["arguments"] == '{"q":1}'
    broken = json.loads(answer["tool_calls"][1]["function"]["arguments"])
    assert broken == {"unparsed_arguments": "not json"}
    assert [found["tool_call_id"], failed["tool_call_id"]] == [
        call["id"] for call in answer["tool_calls"]
    ]
    assert found["content"] == "found"
    assert "no such tool" in failed["content"]
    assert failed["content"] != "no such tool"  # marked as an error
    assert (more["role"], more["content"]) == ("user", "And?")


async def test_given_an_empty_answer_then_it_is_not_sent_back(client: httpx.AsyncClient) -> None:
    blank = AssistantMessage(" ", (ToolCall("a", "search", "{}"),))
    messages = (
        *(UserMessage("Hello"), AssistantMessage(" \n"), UserMessage("Go on.")),
        *(blank, ToolMessage("a", "search", "found")),
    )
    body = await sent(client, ChatRequest("", messages, tools=(SEARCH,)))
    *questions, answer, _ = body["messages"]
    assert [(one["role"], one["content"]) for one in questions] == [
        ("user", "Hello"),
        ("user", "Go on."),
    ]
    assert not answer.get("content")


async def test_given_reasoning_then_only_the_providers_own_goes_back(
    client: httpx.AsyncClient,
) -> None:
    body = json.dumps(await sent(client, ChatRequest("", TALK)))
    assert "Hm" in body
    assert "secret" not in body


async def test_given_settings_and_tools_then_they_are_sent_as_they_are(
    client: httpx.AsyncClient,
) -> None:
    request = ChatRequest(
        "",
        (UserMessage("Hello"),),
        tools=(SEARCH,),
        tool_choice="required",
        max_tokens=77,
        temperature=0.5,
        stop=("END",),
    )
    body = await sent(client, request)
    assert body["model"] == "model-x"
    assert body["stream"] is True
    assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert (body["temperature"], body["stop"]) == (0.5, ["END"])
    assert body["tool_choice"] == "required"
    assert body["parallel_tool_calls"] is True
    function = body["tools"][0]["function"]
    assert function["parameters"] == SEARCH.parameters
    assert (function["name"], function["description"]) == ("search", "Search.")


async def test_given_a_profile_then_what_it_forbids_is_not_sent(client: httpx.AsyncClient) -> None:
    request = ChatRequest(
        "", (UserMessage("Hi"),), tools=(SEARCH,), tool_choice="required", temperature=0.5
    )
    profile = Profile(forced_tool_choice=False, sampling=False, max_output_tokens=10)
    body = await sent(client, request, profile)
    assert body.get("tool_choice", "auto") == "auto"
    assert "calling one of the tools" in body["messages"][-1]["content"]
    assert "temperature" not in body
    assert 10 in (body.get("max_tokens"), body.get("max_completion_tokens"))


async def test_given_tool_choice_none_then_the_model_is_told(client: httpx.AsyncClient) -> None:
    request = ChatRequest("", (UserMessage("Hi"),), tools=(SEARCH,), tool_choice="none")
    assert (await sent(client, request))["tool_choice"] == "none"


async def test_given_arguments_then_they_are_kept_as_they_came(client: httpx.AsyncClient) -> None:
    async with raw_server(STREAM + OPENAI_STREAM) as server:
        completion = await complete(bridged(client, server.url), ChatRequest("", TALK))
    assert completion.message.tool_calls == CALLS
    assert completion.message.text == "Grüße 🐝 "
    assert (completion.model, completion.usage.raw["model"]) == ("together:model-x", "gpt-x-2026")


async def test_given_cached_tokens_then_the_input_includes_them(client: httpx.AsyncClient) -> None:
    async with raw_server(STREAM + OPENAI_STREAM) as server:
        usage = (await complete(bridged(client, server.url), ChatRequest("", TALK))).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (20, 8, 9)


@pytest.mark.parametrize(
    ("finish", "expected"), [("length", "length"), ("content_filter", "refused")]
)
async def test_given_an_end_then_its_reason_is_normalised(
    client: httpx.AsyncClient, finish: str, expected: str
) -> None:
    stream = sse({**chunk({"content": "x"}), "created": 1}, chunk({}, finish), "[DONE]")
    async with raw_server(STREAM + stream) as server:
        completion = await complete(bridged(client, server.url), ChatRequest("", TALK))
    assert completion.finish_reason == expected


async def test_given_a_clean_end_without_a_reason_then_the_answer_is_not_taken(
    client: httpx.AsyncClient,
) -> None:
    stream = sse({**chunk({"content": "half an ans"}), "created": 1})
    async with raw_server(STREAM + stream) as server:
        with pytest.raises(StreamTruncatedError, match="middle of the answer"):
            await complete(bridged(client, server.url), ChatRequest("", TALK))


async def test_given_a_page_instead_of_a_stream_then_it_is_no_answer(
    client: httpx.AsyncClient,
) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>Hi</html>"
    async with raw_server(page) as server:
        with pytest.raises(StreamTruncatedError):
            await complete(bridged(client, server.url), ChatRequest("", TALK))
