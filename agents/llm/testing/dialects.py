"""Conversion of an answer to a dialect's events, or to one object without ``stream``."""

from __future__ import annotations

import json
from typing import Any

from agents.llm.testing.answers import Answer, call_arguments


def openai_events(answer: Answer) -> list[bytes]:
    """Return Chat Completions chunks; parallel calls come interleaved, as some servers send."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if answer.thinking:
        deltas.append({"reasoning_content": answer.thinking})
    deltas += [{"content": piece} for piece in answer.pieces]
    halves: list[dict[str, Any]] = []
    for index, call in enumerate(answer.calls):
        arguments = call_arguments(call)
        middle = len(arguments) // 2
        function = {"name": call[0], "arguments": arguments[:middle]}
        head = {"id": f"call_{answer.id}_{index}", "type": "function", "function": function}
        deltas.append({"tool_calls": [{"index": index, **head}]})
        rest = {"index": index, "function": {"arguments": arguments[middle:]}}
        halves.append({"tool_calls": [rest]})
    chunks = [_chunk(answer, delta, None) for delta in deltas + halves]
    chunks.append(_chunk(answer, {}, "tool_calls" if answer.calls else "stop"))
    usage = {**_openai_base(answer), "choices": [], "usage": _openai_usage(answer)}
    return [_data(chunk) for chunk in (*chunks, usage)] + [b"data: [DONE]\n\n"]


def openai_object(answer: Answer) -> dict[str, Any]:
    """Return the answer to a Chat Completions request without ``stream``."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.pieces) or None}
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{answer.id}_{index}",
                "type": "function",
                "function": {"name": call[0], "arguments": call_arguments(call)},
            }
            for index, call in enumerate(answer.calls)
        ]
    finish = "tool_calls" if answer.calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    base = {**_openai_base(answer), "object": "chat.completion"}
    return {**base, "choices": [choice], "usage": _openai_usage(answer)}


def _openai_base(answer: Answer) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": answer.model,
    }


def _chunk(answer: Answer, delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**_openai_base(answer), "choices": [choice]}


def _openai_usage(answer: Answer) -> dict[str, Any]:
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }


def anthropic_events(answer: Answer) -> list[bytes]:
    """Return Messages events."""
    message = {**anthropic_object(answer), "content": [], "stop_reason": None}
    message["usage"] = {"input_tokens": answer.prompt_tokens, "output_tokens": 0}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(_blocks(answer)):
        start, deltas = _block_deltas(block, answer)
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    usage = {"output_tokens": answer.completion_tokens}
    events.append({"type": "message_delta", "delta": stop, "usage": usage})
    events.append({"type": "message_stop"})
    return [b"event: %b\n%b" % (event["type"].encode(), _data(event)) for event in events]


def anthropic_object(answer: Answer) -> dict[str, Any]:
    """Return the answer to a Messages request without ``stream``."""
    usage = {"input_tokens": answer.prompt_tokens, "output_tokens": answer.completion_tokens}
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": _blocks(answer),
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _blocks(answer: Answer) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if answer.thinking:
        signature = f"signed-{answer.id}"
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": signature})
    if answer.pieces:
        blocks.append({"type": "text", "text": "".join(answer.pieces)})
    for index, (name, arguments) in enumerate(answer.calls):
        call_id = f"toolu_{answer.id}_{index}"
        blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
    return blocks


def _block_deltas(
    block: dict[str, Any], answer: Answer
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a block as it starts, empty, and the deltas that fill it."""
    match block["type"]:
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [thought, signature]
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in answer.pieces]
            return {"type": "text", "text": ""}, deltas
        case _:
            text = call_arguments((block["name"], block["input"]))
            parts = (text[: len(text) // 2], text[len(text) // 2 :])
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            return {**block, "input": {}}, deltas


def error_object(dialect: str, *, kind: str, message: str) -> dict[str, Any]:
    """Return an error's body, or its event's data, in either dialect."""
    error = {"type": kind, "message": message}
    return {"type": "error", "error": error} if dialect == "anthropic" else {"error": error}


def error_event(dialect: str, *, kind: str) -> bytes:
    """Return an error event, as it may occur in the middle of a stream."""
    data = _data(error_object(dialect, kind=kind, message="asked for by the script"))
    return b"event: error\n" + data if dialect == "anthropic" else data


def _data(value: dict[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return b"data: %b\n\n" % text.encode("utf-8", "replace")
