"""Decoder of Messages events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.llm.adapters.anthropic_layout import layout_thinking
from agents.llm.adapters.failures import ended_early, event_error
from agents.llm.adapters.shapes import arguments_text, as_count, as_dict, as_str, parse_event
from agents.llm.adapters.sse import SentEvent
from agents.llm.adapters.think_tags import ThinkTags
from agents.llm.errors import StreamTruncatedError
from agents.llm.messages import (
    AssistantMessage,
    Completion,
    FinishReason,
    StreamEvent,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from agents.llm.text import TextCleaner, clean_json, clean_text

if TYPE_CHECKING:
    from agents.llm.adapters.endpoint import Endpoint

_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


@dataclass(slots=True)
class _Block:
    index: int  # some servers use an index for several blocks
    kind: str
    fields: dict[str, Any]
    number: int  # within its kind, from 0: the index of a call in live views
    parts: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    cleaner: TextCleaner = field(default_factory=TextCleaner)
    tags: ThinkTags = field(default_factory=ThinkTags)


class AnthropicDecoder:
    """Decoder of one answer, block by block."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._done = False
        self._model = ""
        self._blocks: list[_Block] = []
        self._open: dict[int, _Block] = {}  # the last block of each index
        self._kinds: Counter[str] = Counter()
        self._stop_reason = ""
        self._usage: dict[str, Any] = {}

    @property
    def done(self) -> bool:
        """True once ``message_stop`` was received."""
        return self._done

    @property
    def whole(self) -> bool:
        """True once the stop reason was received; only ``message_stop`` follows."""
        return bool(self._stop_reason)

    def feed(self, event: SentEvent) -> Iterator[StreamEvent]:
        """Decode one event; see ``Decoder.feed``."""
        if not event.data.strip():
            return
        data = parse_event(event.data, endpoint=self._endpoint)
        match as_str(data.get("type")) or event.event:
            case "message_start":
                message = as_dict(data.get("message"))
                self._model = as_str(message.get("model")) or self._model
                self._usage.update(as_dict(message.get("usage")))
            case "content_block_start":
                yield from self._start(as_count(data.get("index")), data.get("content_block"))
            case "content_block_delta":
                block = self._open.get(as_count(data.get("index")))
                if block is None:
                    raise StreamTruncatedError(
                        f"{self._endpoint.label} sent a piece of a block that it did not begin; "
                        "try again, and if it persists, check that the server speaks this dialect."
                    )
                yield from _grow(block, as_dict(data.get("delta")))
            case "message_delta":
                reason = as_str(as_dict(data.get("delta")).get("stop_reason"))
                self._stop_reason = reason or self._stop_reason
                usage = as_dict(data.get("usage"))
                self._usage.update({k: v for k, v in usage.items() if v is not None})
            case "message_stop":
                self._done = True
            case "error":
                raise event_error(self._endpoint, data.get("error") or data)
            case _:
                pass  # ping, content_block_stop and future types

    def _start(self, index: int, content: object) -> Iterator[StreamEvent]:
        fields = as_dict(content)
        kind = as_str(fields.get("type"))
        block = self._open[index] = _Block(index, kind, fields, self._kinds[kind])
        self._blocks.append(block)
        self._kinds[kind] += 1
        # The start event may already contain text, the whole input of a call, or thinking.
        yield from _add(block, as_str(fields.get(kind)))

    def finish(self) -> Completion:
        """Return the whole answer; see ``Decoder.finish``."""
        if not self._stop_reason:
            raise ended_early(self._endpoint)
        blocks = sorted(self._blocks, key=lambda block: block.index)
        for block in blocks:
            list(_add(block, block.cleaner.flush()))
            block.tags.finish()
        texts = [_text(block) for block in blocks if block.kind == "text"]
        calls = tuple(_tool_call(block) for block in blocks if block.kind == "tool_use")
        message = AssistantMessage("".join(texts), calls, self._thinking(blocks))
        reason = _FINISH.get(self._stop_reason, "other")
        usage = _usage(self._usage, model=self._model)
        return Completion(message, usage, reason, self._endpoint.name)

    def _thinking(self, blocks: list[_Block]) -> tuple[Thinking, ...]:
        provider = self._endpoint.provider
        thinking: list[Thinking] = []
        order: list[str] = []
        for block in blocks:
            match block.kind:
                case "text":
                    order.append(f"text:{len(_text(block))}")
                case "tool_use":
                    order.append("tool_use")
                case "thinking" | "redacted_thinking":
                    order.append("thinking")
                    thinking.append(Thinking(provider, _thinking_block(block)))
        return (*thinking, *layout_thinking(provider, order))


def _grow(block: _Block, delta: dict[str, Any]) -> Iterator[StreamEvent]:
    match delta:
        case {"type": "text_delta", "text": str(text)}:
            yield from _add(block, text)
        case {"type": "thinking_delta", "thinking": str(text)}:
            yield from _add(block, text)
        case {"type": "input_json_delta", "partial_json": piece}:
            yield from _add(block, arguments_text(piece))
        case {"type": "signature_delta", "signature": str(text)}:
            block.signature.append(text)


def _add(block: _Block, piece: str) -> Iterator[StreamEvent]:
    text = block.cleaner.feed(piece)
    if not text:
        return
    if block.kind == "text":
        yield from block.tags.feed(text)
        return
    block.parts.append(text)
    match block.kind:
        case "thinking":
            yield ThinkingDelta(text)
        case "tool_use":
            yield ToolCallDelta(block.number, clean_text(as_str(block.fields.get("name"))), text)


def _text(block: _Block) -> str:
    return block.tags.text if block.kind == "text" else "".join(block.parts)


def _tool_call(block: _Block) -> ToolCall:
    arguments = _text(block)
    if not arguments:
        # Without pieces the start event has the input, which is often empty.
        arguments = clean_text(arguments_text(block.fields.get("input"))) or "{}"
    name = clean_text(as_str(block.fields.get("name")))
    return ToolCall(clean_text(as_str(block.fields.get("id"))), name, arguments)


def _thinking_block(block: _Block) -> dict[str, Any]:
    """Return the block as the API requires it back: its fields, with the streamed text added."""
    result: dict[str, Any] = clean_json(block.fields)
    if block.kind == "thinking":
        result["thinking"] = _text(block)
        if block.signature:
            result["signature"] = "".join(block.signature)
    return result


def _usage(raw: dict[str, Any], *, model: str) -> Usage:
    cached = as_count(raw.get("cache_read_input_tokens"))
    written = as_count(raw.get("cache_creation_input_tokens"))
    return Usage(
        # The API counts tokens read from and written to the cache separately.
        input_tokens=as_count(raw.get("input_tokens")) + cached + written,
        output_tokens=as_count(raw.get("output_tokens")),
        cached_input_tokens=cached,
        cache_write_tokens=written,
        raw=clean_json({**raw, "model": model} if model else raw),
    )
