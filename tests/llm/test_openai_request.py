"""Our conversation as a Chat Completions body."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agents.llm.adapters.openai_request import request_body
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    ReasoningEffort,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import TINY, Profile, openai_profile

from .support import CLOCK, SEARCH, endpoint

REQUEST = ChatRequest("Be brief.", (UserMessage("Hello"),), temperature=0.5, stop=("END",))


def body(request: ChatRequest, profile: Profile | None = None) -> dict[str, Any]:
    return request_body(request, endpoint=endpoint(), profile=profile or Profile())


def test_a_plain_request_asks_for_a_stream_with_usage_and_a_limit() -> None:
    assert body(REQUEST) == {
        "model": "model-x",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 4096,
        "temperature": 0.5,
        "stop": ["END"],
    }


def test_a_reasoning_model_gets_no_sampling_and_the_newer_limit() -> None:
    sent = body(REQUEST, openai_profile("gpt-5-mini"))
    assert sent["max_completion_tokens"] == 4096
    assert not {"max_tokens", "temperature", "stop", "reasoning_effort"} & set(sent)


def test_newer_openai_models_take_tools_only_without_reasoning() -> None:
    sent = body(replace(REQUEST, tools=(CLOCK,)), openai_profile("gpt-6-sol"))
    assert sent["reasoning_effort"] == "none"
    assert "reasoning_effort" not in body(REQUEST, openai_profile("gpt-6-sol"))


def test_tools_and_choice() -> None:
    tools = replace(REQUEST, tools=(SEARCH, CLOCK))
    sent = body(tools)
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["search", "clock"]
    assert "tool_choice" not in sent
    assert body(replace(tools, tool_choice="required"))["tool_choice"] == "required"
    assert body(replace(tools, tool_choice="none"))["tool_choice"] == "none"


def test_a_choice_that_cannot_be_forced_is_asked_for_in_words() -> None:
    forced = replace(REQUEST, tools=(CLOCK,), tool_choice="required")
    sent = body(forced, Profile(forced_tool_choice=False))
    assert "tool_choice" not in sent
    assert sent["messages"][-1]["content"] == "Answer by calling one of the tools."


def conversation(*calls: ToolCall, thinking: tuple[Thinking, ...] = ()) -> ChatRequest:
    results = [ToolMessage(call.id, call.name, "done", is_error=call.name == "") for call in calls]
    asked = AssistantMessage("Let me see.", calls, thinking)
    return ChatRequest("", (UserMessage("?"), asked, *results), (SEARCH,))


def test_calls_and_results_keep_their_ids() -> None:
    messages = body(conversation(ToolCall("call_1", "search", '{"q": 1}')))["messages"]
    assert messages[1] == {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "search", "arguments": '{"q": 1}'},
            }
        ],
    }
    assert messages[2] == {"role": "tool", "tool_call_id": "call_1", "content": "done"}


def test_what_the_model_got_wrong_is_mended_enough_to_be_sent_back() -> None:
    odd_id = "functions.search:0 " + "x" * 60
    messages = body(conversation(ToolCall(odd_id, "my tool!", '{"q": ')))["messages"]
    call = messages[1]["tool_calls"][0]
    assert call["function"]["name"] == "my_tool_"
    assert json.loads(call["function"]["arguments"]) == {"unparsed_arguments": '{"q": '}
    assert call["id"] == messages[2]["tool_call_id"]
    assert len(call["id"]) <= 40
    empty = body(conversation(ToolCall("", "", "")))["messages"]
    assert empty[1]["tool_calls"][0]["function"] == {"name": "unnamed", "arguments": "{}"}


def test_a_failed_tool_says_so_in_its_text() -> None:
    failed = ToolMessage("a", "search", "no network", is_error=True)
    again = ToolMessage("a", "search", "Error: twice", is_error=True)
    messages = body(ChatRequest("", (failed, again)))["messages"]
    assert [message["content"] for message in messages] == ["Error: no network", "Error: twice"]


def test_reasoning_goes_back_to_its_provider_and_to_no_other() -> None:
    call = ToolCall("a", "search", "{}")
    reasoning = {"type": "message_field", "field": "reasoning_content", "value": "hm"}
    signature = {"type": "call_field", "index": 0, "value": {"google": {"thought_signature": "s"}}}
    own = tuple(Thinking("openai", block) for block in (reasoning, signature))
    message = body(conversation(call, thinking=own))["messages"][1]
    assert message["reasoning_content"] == "hm"
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}
    foreign = tuple(Thinking("anthropic", block) for block in (reasoning, signature))
    message = body(conversation(call, thinking=foreign))["messages"][1]
    assert "reasoning_content" not in message
    assert "extra_content" not in message["tool_calls"][0]


def test_examples_are_not_for_models_with_native_tools() -> None:
    request = replace(REQUEST, tools=(CLOCK,), examples=(UserMessage("shown"),))
    assert "shown" not in json.dumps(body(request))


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("gpt-6-sol", ["none", "low", "medium", "high"]),
        ("gpt-6-astra", ["low", "medium", "high"]),
        ("gpt-5.1", ["none", "low", "medium", "high"]),
        ("gpt-5-mini", ["low", "medium", "high"]),
        ("o3", ["low", "medium", "high"]),
        ("gpt-4.1", []),
    ],
)
def test_a_reasoning_effort_is_sent_where_the_model_knows_it(model: str, sent: list[str]) -> None:
    efforts: list[ReasoningEffort] = ["", "none", "low", "medium", "high"]
    bodies = [
        body(replace(REQUEST, reasoning_effort=effort), openai_profile(model)) for effort in efforts
    ]
    assert [item["reasoning_effort"] for item in bodies if "reasoning_effort" in item] == sent


def test_a_compatible_server_gets_the_effort_it_was_given_and_the_tiny_model_none() -> None:
    asked = replace(REQUEST, reasoning_effort="low")
    assert body(asked)["reasoning_effort"] == "low"
    assert "reasoning_effort" not in body(REQUEST)
    assert "reasoning_effort" not in body(asked, TINY)


def test_the_rule_for_tools_wins_over_the_effort() -> None:
    asked = replace(REQUEST, tools=(CLOCK,), reasoning_effort="high")
    assert body(asked, openai_profile("gpt-6-sol"))["reasoning_effort"] == "none"
    assert body(asked, openai_profile("gpt-5.1"))["reasoning_effort"] == "high"


@pytest.mark.parametrize("empty", [AssistantMessage(), AssistantMessage(" \n")])
def test_an_empty_answer_is_not_sent_back(empty: AssistantMessage) -> None:
    messages = (UserMessage("Hello"), empty, UserMessage("Go on."))
    sent = body(replace(REQUEST, messages=messages))["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "user"]
