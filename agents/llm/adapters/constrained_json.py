"""Tool calls for models without native ones: the reply is JSON under a schema and becomes a call.

Servers such as llama.cpp, Ollama and vLLM turn ``response_format`` into a grammar, so even a tiny
model's reply always has the right form.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Protocol

from agents.llm.adapters.constrained_choice import choose
from agents.llm.adapters.constrained_history import json_conversation, text_conversation
from agents.llm.adapters.constrained_schema import answer_name, call_schema
from agents.llm.adapters.partial_json import PartialCall
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Completion,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from agents.llm.profiles import ABLE, Constrained
from agents.llm.text import read_object


class JsonModel(Protocol):
    """Interface of the wrapped model: Chat Completions with extra fields in the body."""

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        ...

    def stream_with(
        self, request: ChatRequest, extra: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent, None]:
        """See ``OpenAIModel.stream_with``."""
        ...


@dataclass(frozen=True, slots=True)
class ConstrainedJsonModel:
    """A ``ChatModel`` with tools around one without.

    Each reply holds one call; a tool that takes a list, like ``delegate_task``, fans out with it.
    ``ChatRequest.examples`` are shown if the model should write JSON. They are part of the request
    because only its author knows the tool and the team; models with native tools do not get them.
    """

    model: JsonModel
    rules: Constrained = ABLE

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.model.name

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``."""
        choice = choose(request, self.rules)
        temperature = request.temperature
        plain = replace(
            request,
            tools=(),
            tool_choice="auto",
            temperature=self.rules.temperature if temperature is None else temperature,
        )
        if not choice.tools:
            system, messages = text_conversation(request, self.rules)
            limit = min(request.max_tokens, self.rules.text_tokens or request.max_tokens)
            plain = replace(plain, system=system, messages=messages, max_tokens=limit)
            return self.model.stream_with(plain, _penalty(self.rules.text_repeat_penalty))
        answer = answer_name(choice.tools)
        system, messages = json_conversation(request, choice, answer=answer, rules=self.rules)
        schema = call_schema(
            choice.tools, answer=answer if choice.answer else "", limits=self.rules
        )
        call_id = f"call_{len(request.messages)}_0"
        extra = {**_response_format(schema), **_penalty(self.rules.json_repeat_penalty)}
        plain = replace(plain, system=system, messages=messages)
        return _translated(
            self.model.stream_with(plain, extra), PartialCall(answer), call_id=call_id
        )


def _penalty(value: float | None) -> dict[str, Any]:
    return {} if value is None else {"repeat_penalty": value}


def _response_format(schema: dict[str, Any]) -> dict[str, Any]:
    json_schema = {"name": "call", "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


async def _translated(
    events: AsyncGenerator[StreamEvent, None], partial: PartialCall, *, call_id: str
) -> AsyncIterator[StreamEvent]:
    # Closed here, not by the garbage collector: a cancel must reach the connection at once.
    async with aclosing(events):
        async for event in events:
            match event:
                case TextDelta(text):
                    new = partial.feed(text)
                    if new and partial.kind == "answer":
                        yield TextDelta(new)
                    elif new:
                        yield ToolCallDelta(0, partial.name, new)
                case Completion():
                    for last in _finished(event, partial, call_id=call_id):
                        yield last
                case _:
                    yield event


def _finished(
    completion: Completion, partial: PartialCall, *, call_id: str
) -> Iterator[StreamEvent]:
    written = completion.message.text
    complete = read_object(written) is not None
    match partial.kind:
        case "call":
            arguments = partial.arguments(complete=complete)
            if rest := partial.rest_of(arguments):
                yield ToolCallDelta(0, partial.name, rest)
            calls = (ToolCall(call_id, partial.name, arguments),)
            message = replace(completion.message, text="", tool_calls=calls)
            reason = "tool_calls" if complete else completion.finish_reason
            yield replace(completion, message=message, finish_reason=reason)
        case "answer":
            yield replace(completion, message=replace(completion.message, text=partial.text))
        case "unknown":
            # The server did not enforce the schema: use the text as an answer.
            if written:
                yield TextDelta(written)
            yield replace(completion, message=AssistantMessage(written))
