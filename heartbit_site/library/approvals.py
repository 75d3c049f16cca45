"""A tool call that waits for a decision, and the decisions a program can make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What a program is asked.

    Attributes:
        agent: Who wants to call the tool.
        tool: Its name.
        arguments: What it would be called with.
        effect: Its effect class, such as ``at_most_once``.
        reason: Why it is asked, in one sentence.
        run_id: The run that waits.
        call_id: Its call, ``turn.index``.
        digest: Of exactly this; a decision holds for nothing else.
    """

    agent: str
    tool: str
    arguments: Mapping[str, Any]
    effect: str
    reason: str
    run_id: UUID
    call_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Approve:
    """Let the call run as shown.

    Attributes:
        always: ``run``: do not ask again for this tool of this agent in this run; ``agent``: in
            no run of this agent as the program defines it now.
    """

    always: Literal["", "run", "agent"] = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Let the call run with these arguments instead."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not let the call run; the model reads the reason."""

    reason: str = ""


Decision = Approve | Edit | Deny
Answer = Decision | bool
Ask = Callable[[Approval], Answer | Awaitable[Answer]]


def decision_of(answer: object) -> Decision:
    """What a callback's answer means; True approves, False denies.

    Raises:
        ConfigurationError: It is no decision.
    """
    match answer:
        case True:
            return Approve()
        case False:
            return Deny()
        case Approve() | Edit() | Deny():
            return answer
    raise ConfigurationError(
        f"The approve callback returned {answer!r}: return True, False, Approve(), "
        'Edit({...}) or Deny("why").'
    )
