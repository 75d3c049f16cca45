"""Scripted model for tests: no server, no network, no delays unless requested.

Usage::

    model = ScriptedModel([calls(("search", {"query": "bees"})), Reply(text="Bees matter.")])
    agent.run(model, "Why do bees matter?")
    assert model.requests[1].messages[-1].content == "three results"
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.llm.errors import ModelError, RequestRejectedError
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Completion,
    FinishReason,
    StreamEvent,
    TextDelta,
    Thinking,
    ToolCall,
    ToolCallDelta,
    Usage,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One scripted answer.

    Attributes:
        tool_calls: Calls of the answer; ``calls()`` is shorter.
        deltas: Number of pieces of the text.
        delay_seconds: Silence before the first piece.
        gap_seconds: Silence between two pieces.
        error: Raised after the pieces, instead of the completion.
        usage: Tokens reported; by default one for every four characters.
        finish_reason: Finish reason; by default it follows from the calls.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: tuple[Thinking, ...] = ()
    deltas: int = 1
    delay_seconds: float = 0.0
    gap_seconds: float = 0.0
    error: ModelError | None = None
    usage: Usage | None = None
    finish_reason: FinishReason | None = None


Scripted = Reply | ModelError | str


def calls(*requested: tuple[str, dict[str, Any]], text: str = "", first_id: int = 0) -> Reply:
    """Return a reply that calls tools, each given as ``(name, arguments)``.

    Ids are ``call_0``, ``call_1`` and so on from ``first_id``.
    """
    tool_calls = tuple(
        ToolCall(f"call_{number}", name, json.dumps(arguments))
        for number, (name, arguments) in enumerate(requested, first_id)
    )
    return Reply(text=text, tool_calls=tool_calls)


class ScriptedModel:
    """A ``ChatModel`` that answers from a list, or by a function of the request.

    Attributes:
        requests: Every request received, in order.
    """

    def __init__(
        self,
        script: Sequence[Scripted] | Callable[[ChatRequest], Scripted],
        *,
        name: str = "scripted:model",
    ) -> None:
        """Take the answers.

        Args:
            script: One answer for each request, in order; or a function, which several runs may
                share. A string is a reply with that text, an error is raised at once.
            name: ``provider:model``.
        """
        self.requests: list[ChatRequest] = []
        self._script = script
        self._name = name

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self._name

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``.

        Raises:
            RequestRejectedError: The list has no answer left.
        """
        self.requests.append(request)
        reply = self._reply(request)
        await asyncio.sleep(reply.delay_seconds)
        for piece in _pieces(reply.text, count=reply.deltas):
            yield TextDelta(piece)
            await asyncio.sleep(reply.gap_seconds)
        for index, call in enumerate(reply.tool_calls):
            yield ToolCallDelta(index, call.name, call.arguments)
        if reply.error is not None:
            raise reply.error
        message = AssistantMessage(reply.text, reply.tool_calls, reply.thinking)
        usage = reply.usage or _estimated(request, message)
        reason = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
        yield Completion(message, usage, reason, self._name)

    def _reply(self, request: ChatRequest) -> Reply:
        scripted = self._script(request) if callable(self._script) else self._next(self._script)
        if isinstance(scripted, ModelError):
            raise scripted
        return Reply(text=scripted) if isinstance(scripted, str) else scripted

    def _next(self, answers: Sequence[Scripted]) -> Scripted:
        if len(self.requests) > len(answers):
            raise RequestRejectedError(
                f"The script of {self._name} has {len(answers)} answers and this is request "
                f"{len(self.requests)}; add an answer, or give a function."
            )
        return answers[len(self.requests) - 1]


def _pieces(text: str, *, count: int) -> list[str]:
    """Cut ``text`` into at most ``count`` pieces of about the same length, none empty."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _estimated(request: ChatRequest, message: AssistantMessage) -> Usage:
    read = len(request.system) + sum(len(str(item)) for item in request.messages)
    written = len(message.text) + sum(len(call.arguments) for call in message.tool_calls)
    return Usage(input_tokens=-(-read // 4), output_tokens=-(-written // 4))
