"""Decoder of Chat Completions chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.llm.adapters.failures import ended_early, event_error, failed_finish
from agents.llm.adapters.shapes import (
    arguments_text,
    as_count,
    as_dict,
    as_list,
    as_str,
    parse_event,
)
from agents.llm.adapters.sse import SentEvent
from agents.llm.adapters.think_tags import THINK_TAGS, ThinkTags
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
from agents.llm.text import TextCleaner, clean_json, clean_text, read_object

if TYPE_CHECKING:
    from agents.llm.adapters.endpoint import Endpoint

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refused",
}

# vLLM, llama.cpp and DeepSeek use the first, OpenRouter and Ollama the second.
_TEXT_FIELDS = ("reasoning_content", "reasoning")
_GROWING = ("text", "summary", "data")


# Limit of "{" pieces with a name, after which a call may be complete: each check parses all pieces.
_MOST_TRIES = 100


@dataclass(slots=True)
class _Call:
    number: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    tries: int = 0  # attempts at parsing the arguments so far

    def is_other(self, *, call_id: str, name: str, arguments: str) -> bool:
        """Return True if a fragment of the same index begins another call.

        Some servers send every parallel call whole and all with index 0, or without any, and some
        without ids; others change the id within a call. So a fragment without a name never begins a
        call, and one with a name does if its name or id differs, or if this call is complete.
        """
        if not name or not self.name:
            return False
        if name != self.name or (call_id and self.id and call_id != self.id):
            return True
        if self.tries >= _MOST_TRIES or not arguments.lstrip().startswith("{"):
            return False
        self.tries += 1
        return read_object("".join(self.arguments)) is not None


class OpenAIDecoder:
    """Decoder of one answer; parallel calls may interleave (see ``_Call.is_other``)."""

    def __init__(self, endpoint: Endpoint, *, call_prefix: str) -> None:
        """Take the endpoint; ``call_prefix`` forms ids if the server sends none."""
        self._endpoint = endpoint
        self._call_prefix = call_prefix
        self._done = False
        self._model = ""
        self._cleaner = TextCleaner()
        self._tags = ThinkTags()
        self._reasoning = _Reasoning()
        self._calls: list[_Call] = []
        self._index = 0  # index of the last fragment that had one
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[tuple[int, str], _Call] = {}
        self._finish = ""
        self._refused = False
        self._usage: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        """True once ``[DONE]`` was received."""
        return self._done

    @property
    def whole(self) -> bool:
        """True once the finish reason was received; usage may follow."""
        return bool(self._finish)

    def feed(self, event: SentEvent) -> Iterator[StreamEvent]:
        """Decode one chunk; see ``Decoder.feed``."""
        data = event.data.strip()
        if data == "[DONE]":
            self._done = True
            return
        if not data:
            return
        chunk = parse_event(data, endpoint=self._endpoint)
        if chunk.get("error") or event.event == "error":
            raise event_error(self._endpoint, chunk.get("error") or chunk)
        self._model = as_str(chunk.get("model")) or self._model
        if chunk.get("usage"):
            self._usage = as_dict(chunk["usage"])
        for choice in as_list(chunk.get("choices"))[:1]:
            yield from self._choice(as_dict(choice))

    def _choice(self, choice: dict[str, Any]) -> Iterator[StreamEvent]:
        delta = as_dict(choice.get("delta"))
        if thought := self._reasoning.feed(delta):
            yield ThinkingDelta(thought)
        refusal = as_str(delta.get("refusal"))
        self._refused = self._refused or bool(refusal)
        if text := self._cleaner.feed(_content(delta.get("content")) + refusal):
            yield from self._tags.feed(text)
        for fragment in as_list(delta.get("tool_calls")):
            yield self._call(as_dict(fragment))
        self._finish = as_str(choice.get("finish_reason")) or self._finish

    def _call(self, fragment: dict[str, Any]) -> ToolCallDelta:
        function = as_dict(fragment.get("function"))
        name = clean_text(as_str(function.get("name")))
        arguments = arguments_text(function.get("arguments"))
        call = self._slot(fragment, name=name, arguments=arguments)
        call.name = call.name or name
        call.extra = as_dict(fragment.get("extra_content")) or call.extra
        call.arguments.append(arguments)
        return ToolCallDelta(call.number, call.name, clean_text(arguments))

    def _slot(self, fragment: dict[str, Any], *, name: str, arguments: str) -> _Call:
        """Return the call that a fragment belongs to, or begin a new one."""
        raw_index, call_id = fragment.get("index"), clean_text(as_str(fragment.get("id")))
        index = self._index = raw_index if isinstance(raw_index, int) else self._index
        call = self._by_id.get((index, call_id)) or self._by_index.get(index)
        if call is None or call.is_other(call_id=call_id, name=name, arguments=arguments):
            call = _Call(len(self._calls))
            self._calls.append(call)
        self._by_index[index] = call
        if call_id:
            call.id = call.id or call_id
            self._by_id[index, call_id] = call
        return call

    def finish(self) -> Completion:
        """Return the whole answer; see ``Decoder.finish``."""
        if not self._finish:
            raise ended_early(self._endpoint)
        if error := failed_finish(self._endpoint, self._finish):
            raise error
        self._tags.feed(self._cleaner.flush())
        self._tags.finish()
        calls = tuple(
            ToolCall(
                id=call.id or f"{self._call_prefix}_{call.number}",
                name=call.name,
                arguments=clean_text("".join(call.arguments)),
            )
            for call in self._calls
        )
        message = AssistantMessage(self._tags.text, calls, self._thinking())
        usage = _usage(self._usage or {}, model=self._model)
        return Completion(message, usage, self._reason(), self._endpoint.name)

    def _reason(self) -> FinishReason:
        if self._refused:
            return "refused"
        if self._calls and self._finish == "stop":
            return "tool_calls"  # some servers report "stop" here
        return _FINISH.get(self._finish, "other")

    def _thinking(self) -> tuple[Thinking, ...]:
        provider = self._endpoint.provider
        blocks = self._reasoning.blocks()
        if self._tags.thoughts:
            blocks.append({"type": THINK_TAGS, "thinking": self._tags.thoughts})
        blocks += [
            {"type": "call_field", "index": call.number, "value": clean_json(call.extra)}
            for call in self._calls
            if call.extra
        ]
        return tuple(Thinking(provider, block) for block in blocks)


class _Reasoning:
    """Collector of one answer's reasoning, to show it and to send it back unchanged."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []

    def feed(self, delta: dict[str, Any]) -> str:
        """Collect the reasoning of a delta and return its visible text."""
        shown = ""
        for name in _TEXT_FIELDS:
            if text := as_str(delta.get(name)):
                self._texts.setdefault(name, []).append(text)
                shown = shown or clean_text(text)
        for detail in as_list(delta.get("reasoning_details")):
            self._add_detail(as_dict(detail))
        return shown

    def _add_detail(self, detail: dict[str, Any]) -> None:
        """Join the pieces of one OpenRouter detail: append text, replace other values."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in _GROWING and isinstance(value, str):
                last[key] = as_str(last.get(key)) + value
            elif value is not None:
                last[key] = value

    def blocks(self) -> list[dict[str, Any]]:
        """Return the blocks for the conversation's ``Thinking`` values.

        OpenRouter sends the same reasoning twice; only its details have the signatures.
        """
        if self._details:
            return [_field("reasoning_details", clean_json(self._details))]
        return [_field(name, clean_text("".join(parts))) for name, parts in self._texts.items()]


def _field(name: str, value: Any) -> dict[str, Any]:
    return {"type": "message_field", "field": name, "value": value}


def _content(content: object) -> str:
    """Return the text of a delta; a few servers send a list of parts."""
    if isinstance(content, list):
        return "".join(as_str(as_dict(part).get("text")) for part in content)
    return as_str(content)


def _usage(raw: dict[str, Any], *, model: str) -> Usage:
    details = as_dict(raw.get("prompt_tokens_details"))
    prompt = as_count(raw.get("prompt_tokens"))
    # Gemini and some others leave reasoning out of completion_tokens but not out of the total.
    hidden = as_count(raw.get("total_tokens")) - prompt
    return Usage(
        input_tokens=prompt,
        output_tokens=max(as_count(raw.get("completion_tokens")), hidden),
        cached_input_tokens=as_count(details.get("cached_tokens")),
        cache_write_tokens=as_count(details.get("cache_write_tokens")),
        raw=clean_json({**raw, "model": model} if model else raw),
    )
