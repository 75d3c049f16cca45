"""A run that a test has played, and what it may claim of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.journal.events import Event, ModelAnswered, ScriptCalled, ToolFinished
from agents.llm.messages import ChatRequest, ToolCall

if TYPE_CHECKING:
    from heartbit_site.library.result import Result


@dataclass(frozen=True, slots=True)
class PlayedCall:
    """A tool call.

    Attributes:
        agent: Name of the agent that made it.
        arguments: The arguments as the model gave them; text, if they are no JSON.
        status: ``ok``, ``error``, ``invalid`` and so on; empty: it has no result.
    """

    agent: str
    tool: str
    arguments: Any
    status: str
    result: str

    def __str__(self) -> str:
        given = self.arguments
        shown = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        return f"{self.tool} {shown} ({self.status or 'no result'})"


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """An ended run.

    Attributes:
        result: As the library returns it.
        requests: What the model was sent, in order.
        calls: The calls of the run and its sub-agents, those of scripts included, in order.
    """

    result: Result
    requests: Sequence[ChatRequest]
    calls: tuple[PlayedCall, ...]

    @property
    def text(self) -> str:
        """The answer."""
        return self.result.text

    def assert_succeeded(self) -> None:
        """Fail with the run's own sentence if it has no answer."""
        if not self.result.succeeded:
            raise AssertionError(f"The run did not succeed. {self._said()}")

    def assert_called(self, tool: str, /, **arguments: Any) -> PlayedCall:
        """Return the first call of a tool that has these arguments among its own, or fail."""
        for call in self._calls_of(tool, arguments):
            return call
        wanted = f"{tool} {json.dumps(arguments, ensure_ascii=False)}" if arguments else tool
        raise AssertionError(f"{wanted} was not called. {self._said()}")

    def assert_not_called(self, tool: str, /, **arguments: Any) -> None:
        """Fail if a tool was called with these arguments among its own."""
        for call in self._calls_of(tool, arguments):
            raise AssertionError(f"{call} was called. {self._said()}")

    def _calls_of(self, tool: str, arguments: dict[str, Any]) -> Iterator[PlayedCall]:
        for call in self.calls:
            given = call.arguments if isinstance(call.arguments, dict) else {}
            if call.tool == tool and arguments.items() <= given.items():
                yield call

    def _said(self) -> str:
        made = "; ".join(map(str, self.calls)) or "none"
        error = f" The run {self.result.status}: {self.result.error}" if self.result.error else ""
        return f"Calls: {made}.{error}"


def played(result: Result, requests: Sequence[ChatRequest]) -> PlayedRun:
    """Return what a test may claim of an ended run."""
    ended = {
        (event.run_id, event.data.call_id): event.data
        for event in result.events
        if isinstance(event.data, ToolFinished)
    }
    found = []
    for event in result.events:
        for call_id, call in _made(event.data):
            done = ended.get((event.run_id, call_id))
            found.append(
                PlayedCall(
                    agent=event.agent,
                    tool=call.name,
                    arguments=_parsed(call.arguments),
                    status=done.status if done is not None else "",
                    result=done.content if done is not None else "",
                )
            )
    return PlayedRun(result, requests, tuple(found))


def _made(event: Event) -> Iterator[tuple[str, ToolCall]]:
    """Yield the calls that a model or a script made by an event, with their ids."""
    if isinstance(event, ModelAnswered):
        for index, call in enumerate(event.message.tool_calls):
            yield f"{event.turn}.{index}", call
    elif isinstance(event, ScriptCalled):
        yield from zip(event.call_ids, event.calls, strict=True)


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
