"""Answers of a provider in both dialects, as events that a fault can still take apart. Pure."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import Any, Literal

Dialect = Literal["openai", "anthropic"]
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic")
MODELS: dict[Dialect, str] = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}

SOUND = "All is well."
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CLOSE, CHUNKED = b"connection: close\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``arguments`` is the text the model wrote, sound or not."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer.

    Attributes:
        models: The names the stream gives itself, one an event, the last one repeated.
        usage: Input and output tokens, whatever they are; None: it does not say.
        reason: Whether the stream says why the answer ends.
        end: Whether what may follow that is sent: the usage of one dialect, and the end mark.
        choices: Whether there is an answer at all.
    """

    text: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    models: tuple[str, ...] = ("a-model",)
    usage: tuple[Any, Any] | None = (12, 5)
    reason: bool = True
    end: bool = True
    choices: bool = True
    numbers: dict[str, Any] = field(default_factory=dict)


def events(dialect: Dialect, answer: Answer) -> list[bytes]:
    """The answer as the events of a stream."""
    made = _openai(answer) if dialect == "openai" else _anthropic(answer)
    for number, event in enumerate(made):
        name = answer.models[min(number, len(answer.models) - 1)]
        event.get("message", event)["model"] = name
    encoded = [_encode(event, named=dialect == "anthropic") for event in made]
    if dialect == "openai" and answer.end:
        encoded.append(b"data: [DONE]\n\n")
    return encoded


def whole(stream: bytes) -> bytes:
    """A complete response, after which the connection may be used again."""
    return STREAM_HEAD + CHUNKED + chunk(stream) + b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """A piece of a chunked transfer."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def response(status: str, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """A response that is not a stream."""
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def gzipped(stream: bytes, *headers: bytes) -> bytes:
    """A stream nobody asked to be compressed, with or without saying that it is."""
    return STREAM_HEAD + b"".join(headers) + CLOSE + gzip.compress(stream)


def error(dialect: Dialect, kind: str) -> dict[str, Any]:
    """An error as the dialect writes it."""
    body: dict[str, Any] = {"error": {"type": kind, "message": "so says the provider"}}
    return {"type": "error", **body} if dialect == "anthropic" else body


def error_event(dialect: Dialect, kind: str) -> bytes:
    """The same in the middle of a stream."""
    return _encode(error(dialect, kind), named=dialect == "anthropic")


def _encode(event: dict[str, Any], *, named: bool) -> bytes:
    data = b"data: %b\n\n" % json.dumps(event, separators=(",", ":")).encode()
    return b"event: %b\n%b" % (event["type"].encode(), data) if named else data


def _openai(answer: Answer) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in answer.text]
    for index, call in enumerate(answer.calls):
        for part, text in enumerate(_halves(call.arguments)):
            piece: dict[str, Any] = {"index": index, "function": {"arguments": text}}
            if not part:
                piece |= {"id": call.id or f"call_{index}", "type": "function"}
                piece["function"]["name"] = call.name
            deltas.append({"tool_calls": [piece]})
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    finish = "tool_calls" if answer.calls else "stop"
    if answer.reason:
        choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    made: list[dict[str, Any]] = [{"id": "c", "choices": [choice]} for choice in choices]
    if not answer.choices:
        made = [{"id": "c", "choices": []}]
    if answer.usage is not None and answer.end:
        prompt, completion = answer.usage
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, **answer.numbers}
        made.append({"id": "c", "choices": [], "usage": usage})
    return made


def _anthropic(answer: Answer) -> list[dict[str, Any]]:
    prompt, completion = answer.usage or (None, None)
    message: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "content": []}
    if answer.usage is not None:
        message["usage"] = {"input_tokens": prompt, "output_tokens": 0, **answer.numbers}
    made: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if answer.text:
        pieces = [{"type": "text_delta", "text": piece} for piece in answer.text]
        blocks.append(({"type": "text", "text": ""}, pieces))
    for number, call in enumerate(answer.calls):
        content = {"type": "tool_use", "id": call.id or f"call_{number}", "name": call.name}
        halves = _halves(call.arguments)
        parts = [{"type": "input_json_delta", "partial_json": half} for half in halves]
        blocks.append(({**content, "input": {}}, parts))
    for number, (content, deltas) in enumerate(blocks):
        place: dict[str, Any] = {"index": number}
        made.append({"type": "content_block_start", **place, "content_block": content})
        made += [{"type": "content_block_delta", **place, "delta": delta} for delta in deltas]
        made.append({"type": "content_block_stop", **place})
    if answer.choices and answer.reason:
        delta = {"stop_reason": "tool_use" if answer.calls else "end_turn"}
        last: dict[str, Any] = {"type": "message_delta", "delta": delta}
        made.append(
            last if completion is None else {**last, "usage": {"output_tokens": completion}}
        )
    return [*made, {"type": "message_stop"}] if answer.end else made


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]
