"""Conversion of pydantic-ai's events and answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_core import to_jsonable_python

from agents.llm.adapters.failures import ended_early, failed_finish
from agents.llm.adapters.shapes import arguments_text
from agents.llm.adapters.think_tags import ThinkTags
from agents.llm.messages import (
    AssistantMessage,
    Completion,
    FinishReason,
    StreamEvent,
    TextDelta,
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
    "stop": "stop",
    "length": "length",
    "content_filter": "refused",
    "tool_call": "tool_calls",
}
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_reasoning_tokens",
)


class AnswerReader:
    """Converter of one answer's events to deltas, and of the whole to a ``Completion``."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._cleaner = TextCleaner()
        self._tags = ThinkTags()
        self._calls: dict[int, int] = {}
        self._names: dict[int, str] = {}

    def feed(self, event: object) -> Iterator[StreamEvent]:
        """Yield the deltas of an event."""
        match event:
            case PartStartEvent(index=index, part=part):
                yield from self._started(index, part)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                yield from self._text(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))) if text:
                yield ThinkingDelta(clean_text(text))
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta() as delta):
                yield self._call(index, delta.tool_name_delta or "", delta.args_delta)

    def _started(self, index: int, part: object) -> Iterator[StreamEvent]:
        match part:
            case TextPart(content=text):
                yield from self._text(text)
            case ThinkingPart(content=text) if text:
                yield ThinkingDelta(clean_text(text))
            case ToolCallPart(tool_name=name, args=arguments):
                yield self._call(index, name, arguments)

    def _text(self, text: str) -> list[TextDelta | ThinkingDelta]:
        return self._tags.feed(self._cleaner.feed(text))

    def _call(self, part: int, name: str, arguments: str | dict[str, Any] | None) -> ToolCallDelta:
        index = self._calls.setdefault(part, len(self._calls))
        self._names[part] = self._names.get(part, "") + clean_text(name)
        return ToolCallDelta(index, self._names[part], clean_text(arguments_text(arguments)))

    def finish(self, response: ModelResponse) -> Completion:
        """Return the whole answer.

        Raises:
            StreamTruncatedError: The stream ended without a finish reason, or with one that says
                that the answer is not what the model wrote.
        """
        # The provider's own reason: pydantic-ai reports "stop" for a stream that just ends.
        said = (response.provider_details or {}).get("finish_reason")
        refused = response.finish_reason == "content_filter"
        if response.state != "complete" or not (said or refused):
            raise ended_early(self._endpoint)
        if error := failed_finish(self._endpoint, str(said or "")):
            raise error
        self._tags.feed(self._cleaner.flush())
        self._tags.finish()
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        message = AssistantMessage(
            self._tags.text,
            tuple(
                ToolCall(
                    id=clean_text(call.tool_call_id),
                    name=clean_text(call.tool_name),
                    # As received; ``args_as_json_str`` would rewrite them.
                    arguments=clean_text(arguments_text(call.args)),
                )
                for call in calls
            ),
            self._thinking(response, calls),
        )
        reason = _FINISH.get(response.finish_reason or "", "other")
        if calls and reason == "stop":
            reason = "tool_calls"  # some providers report "stop" here
        return Completion(message, _usage(response), reason, self._endpoint.name)

    def _thinking(self, response: ModelResponse, calls: list[ToolCallPart]) -> tuple[Thinking, ...]:
        """Return reasoning, and provider details of calls, to be sent back unchanged."""
        blocks: list[dict[str, Any]] = [
            {
                "type": "thinking",
                "content": part.content,
                "signature": part.signature,
                **_origin(part),
            }
            for part in response.parts
            if isinstance(part, ThinkingPart) and part.has_content()
        ]
        blocks += [
            {"type": "call", "index": index, **_origin(call)}
            for index, call in enumerate(calls)
            if call.id or call.provider_details
        ]
        if self._tags.thoughts:
            blocks.append({"type": "thinking", "content": self._tags.thoughts})
        provider = self._endpoint.provider
        return tuple(Thinking(provider, clean_json(_without_nulls(block))) for block in blocks)


def _origin(part: ThinkingPart | ToolCallPart) -> dict[str, Any]:
    return {
        "id": part.id,
        "provider_name": part.provider_name,
        "provider_details": to_jsonable_python(part.provider_details, fallback=str),
    }


def _without_nulls(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if value is not None}


def _usage(response: ModelResponse) -> Usage:
    """Return the normalised usage; pydantic-ai's ``input_tokens`` always include cached ones."""
    usage = response.usage
    counts = {name: getattr(usage, name) for name in _COUNTS} | dict(usage.details)
    raw: dict[str, Any] = {name: count for name, count in counts.items() if count}
    if response.model_name:
        raw["model"] = response.model_name
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        raw=clean_json(raw),
    )
