"""Our conversation as a Messages body."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agents.llm.adapters.anthropic_request import request_body
from agents.llm.adapters.openai_request import ASK_FOR_A_CALL
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    ReasoningEffort,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import Profile, anthropic_profile

from .support import CLOCK, SEARCH, endpoint

CACHE = {"type": "ephemeral"}
REQUEST = ChatRequest("Be brief.", (UserMessage("Hello"),), temperature=0.5, stop=("END",))
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def body(request: ChatRequest, profile: Profile | None = None) -> dict[str, Any]:
    return request_body(request, endpoint=endpoint("anthropic"), profile=profile or Profile())


def open_turn(*thinking: Thinking) -> ChatRequest:
    calls = (ToolCall("a", "search", '{"q": "x"}'), ToolCall("b", "clock", ""))
    results = (
        ToolMessage("a", "search", "three"),
        ToolMessage("b", "clock", "broken", is_error=True),
    )
    asked = AssistantMessage(" ", calls, thinking)
    return ChatRequest("", (UserMessage(""), asked, *results), (SEARCH, CLOCK))


def test_a_plain_request_marks_system_and_last_message_for_the_cache() -> None:
    assert body(REQUEST) == {
        "model": "model-x",
        "max_tokens": 4096,
        "stream": True,
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hello", "cache_control": CACHE}],
            }
        ],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": CACHE}],
        "temperature": 0.5,
        "stop_sequences": ["END"],
    }


def test_only_the_last_tool_is_marked_for_the_cache() -> None:
    tools = body(replace(REQUEST, tools=(SEARCH, CLOCK)))["tools"]
    assert [tool["name"] for tool in tools] == ["search", "clock"]
    assert ["cache_control" in tool for tool in tools] == [False, True]


def test_results_of_one_turn_stand_in_one_message_and_keep_their_failure() -> None:
    messages = body(open_turn())["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"] == [{"type": "text", "text": "(no text)"}]
    assert [block["type"] for block in messages[1]["content"]] == ["tool_use", "tool_use"]
    assert messages[1]["content"][1]["input"] == {}
    first, second = messages[2]["content"]
    assert "is_error" not in first
    assert second["is_error"] is True
    assert second["cache_control"] == CACHE


def test_thinking_goes_back_first_and_unchanged_to_its_provider_only() -> None:
    profile = Profile(thinking="adaptive")
    own = body(open_turn(Thinking("anthropic", SIGNED)), profile)["messages"][1]["content"]
    assert own[0] == SIGNED
    foreign = body(open_turn(Thinking("openai", SIGNED)), profile)["messages"][1]["content"]
    assert [block["type"] for block in foreign] == ["tool_use", "tool_use"]


@pytest.mark.parametrize(
    ("model", "choice", "thinking"),
    [
        ("claude-3-5-haiku-latest", {"type": "any"}, None),
        ("claude-sonnet-4-5", {"type": "any"}, None),
        ("claude-opus-4-8", {"type": "any"}, {"type": "disabled"}),
        ("claude-sonnet-5", {"type": "any"}, {"type": "disabled"}),
        ("claude-sonnet-5-5", None, None),
        ("claude-haiku-5-5", {"type": "any"}, None),
        ("claude-something-7", None, None),
    ],
)
def test_a_forced_call_is_forced_as_the_model_allows(
    model: str, choice: dict[str, str] | None, thinking: dict[str, str] | None
) -> None:
    forced = replace(REQUEST, tools=(CLOCK,), tool_choice="required")
    sent = body(forced, anthropic_profile(model))
    assert sent.get("tool_choice") == choice
    assert sent.get("thinking") == thinking
    asked = sent["messages"][-1]["content"][-1]["text"]
    assert (asked == ASK_FOR_A_CALL) == (choice is None)


def test_a_model_that_refuses_temperature_gets_none() -> None:
    assert "temperature" not in body(REQUEST, anthropic_profile("claude-opus-5-5"))
    assert body(REQUEST, anthropic_profile("claude-haiku-4-5"))["temperature"] == 0.5


def test_a_thinking_budget_is_asked_for_only_where_it_may_be() -> None:
    profile = Profile(thinking="budget", thinking_budget=2000)
    sent = body(REQUEST, profile)
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert "temperature" not in sent
    assert "thinking" not in body(replace(REQUEST, max_tokens=500), profile)
    forced = replace(REQUEST, tools=(CLOCK,), tool_choice="required")
    assert "thinking" not in body(forced, profile)
    # The call that these results answer was made without thinking.
    assert "thinking" not in body(open_turn(), profile)
    resumed = body(open_turn(Thinking("anthropic", SIGNED)), profile)
    assert resumed["thinking"]["type"] == "enabled"
    assert resumed["messages"][1]["content"][0] == SIGNED


def test_the_same_request_gives_the_same_bytes() -> None:
    once, again = (json.dumps(body(open_turn())) for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    ("effort", "max_tokens", "budget"),
    [
        ("low", 32_768, 2048),
        ("medium", 32_768, 8192),
        ("high", 32_768, 16_384),
        ("high", 4096, 2048),
        ("medium", 2048, 1024),
        ("high", 2047, None),
        ("none", 32_768, None),
        ("", 32_768, None),
    ],
)
def test_an_effort_is_a_budget_that_leaves_half_of_the_answer(
    effort: ReasoningEffort, max_tokens: int, budget: int | None
) -> None:
    asked = replace(REQUEST, reasoning_effort=effort, max_tokens=max_tokens)
    sent = body(asked, anthropic_profile("claude-sonnet-4-5"))
    assert sent.get("thinking", {}).get("budget_tokens") == budget
    assert ("temperature" in sent) == (budget is None)
    assert "output_config" not in sent


def test_the_effort_wins_over_the_profile_s_budget() -> None:
    profile = Profile(thinking="budget", thinking_budget=3000)
    asked = replace(REQUEST, max_tokens=10_000)
    assert body(asked, profile)["thinking"]["budget_tokens"] == 3000
    low = body(replace(asked, reasoning_effort="low"), profile)
    assert low["thinking"]["budget_tokens"] == 2048
    assert "thinking" not in body(replace(asked, reasoning_effort="none"), profile)


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "output"),
    [
        ("claude-sonnet-5", "low", {"type": "adaptive"}, {"effort": "low"}),
        ("claude-opus-4-7", "high", {"type": "adaptive"}, {"effort": "high"}),
        ("claude-sonnet-5", "none", {"type": "disabled"}, None),
        ("claude-sonnet-5", "", None, None),
        ("claude-sonnet-5-5", "medium", None, {"effort": "medium"}),
        ("claude-sonnet-5-5", "none", None, None),
        ("claude-3-5-haiku-latest", "high", None, None),
    ],
)
def test_a_model_that_thinks_by_itself_is_told_the_effort(
    model: str,
    effort: ReasoningEffort,
    thinking: dict[str, str] | None,
    output: dict[str, str] | None,
) -> None:
    sent = body(replace(REQUEST, reasoning_effort=effort), anthropic_profile(model))
    assert sent.get("thinking") == thinking
    assert sent.get("output_config") == output


def test_an_empty_answer_is_not_sent_back_even_if_it_was_thought_about() -> None:
    empty = AssistantMessage(" \n", thinking=(Thinking("anthropic", SIGNED),))
    messages = (UserMessage("Hello"), empty, UserMessage("Go on."))
    sent = body(replace(REQUEST, messages=messages), Profile(thinking="always"))["messages"]
    assert [message["role"] for message in sent] == ["user"]
    assert [block["text"] for block in sent[0]["content"]] == ["Hello", "Go on."]
