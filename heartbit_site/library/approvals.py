"""A program's callbacks for a run's text and events, and for calls that wait for a decision."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import Answer
from heartbit_site.library.result import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A call that waits for the program's decision.

    Attributes:
        agent: Name of the agent that wants to call the tool.
        tool: Name of the tool.
        arguments: Arguments of the call.
        effect: Its effect class, such as ``at_most_once``.
        reason: Why the call waits, in one sentence.
        run_id: The run that waits.
        call_id: Its call, ``turn.index``.
        digest: Digest of this call; a decision applies only to it.
        form: The JSON Schema of the ``Answer`` to a question; None for other calls.
    """

    agent: str
    tool: str
    arguments: Mapping[str, Any]
    effect: str
    reason: str
    run_id: UUID
    call_id: str
    digest: str
    form: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Approve:
    """Let the call run as shown.

    Attributes:
        always: ``run``: allow further calls of this tool by this agent in this run; ``agent``: in
            all runs of this agent as the program defines it now.
    """

    always: Literal["", "run", "agent"] = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Let the call run with these arguments instead."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not let the call run, or do not answer; the model reads the reason."""

    reason: str = ""


Decision = Approve | Edit | Answer | Deny
Said = Decision | bool
Ask = Callable[[Approval], Said | Awaitable[Said]]


def decision_of(said: object) -> Decision:
    """Convert a callback's result to a decision; True approves, False denies.

    Raises:
        ConfigurationError: The result is not a decision.
    """
    match said:
        case True:
            return Approve()
        case False:
            return Deny()
        case Approve() | Edit() | Answer() | Deny():
            return said
    raise ConfigurationError(
        f"The on_approval callback returned {said!r}: return True, False, Approve(), "
        'Edit({...}), Answer(value) or Deny("why").'
    )


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The callbacks of one builder; see its steps."""

    text: Callable[[str], Any] | None = None
    restart: Callable[[], Any] | None = None
    event: Callable[[Event], Any] | None = None
    ask: Ask | None = None

    def __bool__(self) -> bool:
        """Return True if any callback is set."""
        return any((self.text, self.restart, self.event, self.ask))


async def invoke(callback: Callable[..., Any] | None, *arguments: Any) -> Any:
    """Call a callback if it is set, and await its result if it is awaitable."""
    if callback is None:
        return None
    answer = callback(*arguments)
    return await answer if inspect.isawaitable(answer) else answer
