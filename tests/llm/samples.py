"""Streams as the providers send them, written by hand, and what must come out of them."""

from __future__ import annotations

import json
from typing import Any

from agents.llm.messages import AssistantMessage, Completion, Thinking, ToolCall, Usage


def sse(*events: dict[str, Any] | str, named: bool = False) -> bytes:
    """Return events as a stream; ``named`` adds the event line Anthropic sends."""
    parts = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        name = f"event: {event['type']}\n" if named and isinstance(event, dict) else ""
        parts.append(f"{name}data: {data}\n\n")
    return "".join(parts).encode()


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return one Chat Completions chunk."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "model": "gpt-x-2026", "choices": [choice]}


def call_delta(index: int, **fields: Any) -> dict[str, Any]:
    """Return a delta with a piece of a tool call."""
    call_id = fields.pop("id", None)
    fragment: dict[str, Any] = {"index": index, "function": fields}
    if call_id:
        fragment |= {"id": call_id, "type": "function"}
    return {"tool_calls": [fragment]}


OPENAI_USAGE: dict[str, Any] = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 8},
}
OPENAI_EVENTS: tuple[dict[str, Any] | str, ...] = (
    chunk({"role": "assistant", "content": "Grü"}),
    chunk({"content": "ße 🐝 "}),
    chunk(call_delta(0, id="call_a", name="search", arguments='{"q": "')),
    chunk(call_delta(1, id="call_b", name="clock", arguments="")),
    chunk(call_delta(0, arguments='bées"}')),
    chunk(call_delta(1, arguments="{}")),
    chunk({}, "tool_calls"),
    {"id": "c1", "model": "gpt-x-2026", "choices": [], "usage": OPENAI_USAGE},
    "[DONE]",
)
OPENAI_STREAM = sse(*OPENAI_EVENTS)
CALLS = (
    ToolCall("call_a", "search", '{"q": "bées"}'),
    ToolCall("call_b", "clock", "{}"),
)
OPENAI_COMPLETION = Completion(
    AssistantMessage("Grüße 🐝 ", CALLS),
    Usage(20, 9, 8, raw={**OPENAI_USAGE, "model": "gpt-x-2026"}),
    "tool_calls",
    "openai:model-x",
)

ANTHROPIC_EVENTS: tuple[dict[str, Any], ...] = (
    {
        "type": "message_start",
        "message": {
            "model": "claude-x",
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 7,
                "cache_creation_input_tokens": 3,
                "output_tokens": 1,
            },
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Hm 🐝"},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "c2ln"},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "text", "text": "Grü"},
    },
    {"type": "ping"},
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "text_delta", "text": "ße 🐝 "},
    },
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "call_a", "name": "search", "input": {}},
    },
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "call_b", "name": "clock", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"q": "'},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": 'bées"}'},
    },
    {"type": "content_block_stop", "index": 2},
    {"type": "content_block_stop", "index": 3},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
)
ANTHROPIC_STREAM = sse(*ANTHROPIC_EVENTS, named=True)
ANTHROPIC_COMPLETION = Completion(
    AssistantMessage(
        "Grüße 🐝 ",
        CALLS,
        (Thinking("anthropic", {"type": "thinking", "thinking": "Hm 🐝", "signature": "c2ln"}),),
    ),
    Usage(
        20,
        9,
        7,
        3,
        raw={
            "input_tokens": 10,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 3,
            "output_tokens": 9,
            "model": "claude-x",
        },
    ),
    "tool_calls",
    "anthropic:model-x",
)
