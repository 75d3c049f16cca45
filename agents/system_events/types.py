"""Types of system events, patterns that select them, and the form of each event. No Django.

Usage::

    matching(["run.*", "quota.reached"])    # ["run.queued", ...]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pydantic import Field, JsonValue

from heartbit_site.base.view import Id, Time, View

#: Every type, and its meaning. ``run.*`` concerns runs without those of their sub-agents.
EVENTS: Final = {
    "run.queued": "A run was accepted.",
    "run.started": "A worker began to execute a run, or continued it.",
    "run.waiting": "A run waits: for a sub-agent, a client, a pause, or a provider.",
    "run.requeued": "A run went back to the queue, because its worker stopped or was lost.",
    "run.succeeded": "A run ended with an answer.",
    "run.failed": "A run ended with an error.",
    "run.cancelled": "A run was cancelled, or discarded from quarantine.",
    "run.quarantined": "A run crashed its workers too often.",
    "run.unquarantined": "A quarantined run was resumed.",
    "approval.requested": "A tool call of a run, or of its sub-agents, waits for a person.",
    "approval.escalated": "More people may decide a call that waited too long.",
    "approval.decided": "A call that waited for a person was decided, or expired.",
    "question.asked": "A run, or a sub-agent of it, asks a person.",
    "question.answered": "A person answered or declined, or the question expired.",
    "outcome.requested": "The outcome of a call is uncertain: a person has to state it.",
    "outcome.resolved": "The outcome of an uncertain call was stated.",
    "schedule.fired": "A schedule started a run.",
    "schedule.skipped": "A schedule skipped a firing.",
    "schedule.failed": "A schedule could not start a run.",
    "delivery.sent": "A result arrived at its delivery target.",
    "delivery.failed": "The delivery of a result was given up.",
    "message.sent": "An agent, a person or a program sent a message to an agent.",
    "agent.changed": "An agent was added, changed, published or rolled back.",
    "agent.started": "An agent was started: it takes runs.",
    "agent.stopped": "An agent was stopped.",
    "agent.restarted": "An agent was restarted.",
    "quota.warning": "A quota of the workspace, or a budget, is nearly used up.",
    "quota.reached": "A quota of the workspace, or a budget, is used up.",
    "alert.raised": "An alert rule of the installation holds (HEARTBIT_ALERT_WORKSPACE).",
    "alert.resolved": "A raised alert rule no longer holds.",
}
MOST_PATTERNS: Final = 40


def check_pattern(pattern: str) -> str:
    """Return a pattern: a type, or one with wildcards such as ``run.*``.

    Raises:
        ValueError: The pattern selects no type.
    """
    if not matching([pattern]):
        known = ", ".join(EVENTS)
        raise ValueError(
            f"{pattern[:60]!r} selects no event: choose from {known}, or a pattern such as run.*"
        )
    return pattern


def matching(patterns: Iterable[str]) -> list[str]:
    """Return the types that any of the patterns selects."""
    wanted = list(patterns)
    return [name for name in EVENTS if any(_matches(name, one) for one in wanted)]


def _matches(name: str, pattern: str) -> bool:
    """Return True if a name fits a pattern, whose ``*`` stand for any text."""
    first, *parts = pattern.split("*")
    if not parts or not name.startswith(first):
        return name == pattern
    rest = name.removeprefix(first)
    for part in parts[:-1]:
        _, found, rest = rest.partition(part) if part else ("", "*", rest)
        if not found:
            return False
    return rest.endswith(parts[-1])


class RunEventData(View):
    """A run, without its texts."""

    run_id: Id
    parent_id: Id | None = None
    agent: str
    kind: str = Field(description="Engine of the run, such as agent, workflow or tool_call.")
    reason: str | None = Field(None, description="Reason of a requeued or waiting run.")
    waits_for: str | None = Field(None, description="Kind of the wait of a waiting run.")
    error_kind: str | None = Field(None, description="Kind of the error of a failed run.")


class CallEventData(View):
    """A tool call of a run or of a sub-agent."""

    class Call(View):
        """The call, and who made it."""

        run_id: Id = Field(description="The run, or sub-agent's run, that made the call.")
        agent: str
        call_id: str
        tool: str | None = None
        waiting_since: Time | None = None
        expires_at: Time | None = None
        decision: str | None = Field(None, description="Decision, such as approved or expired.")
        decided_by: str | None = None

    run_id: Id = Field(description="The run, or the one whose sub-agent made the call.")
    agent: str
    call: Call


class ScheduleEventData(View):
    """A firing of a schedule."""

    schedule: str
    agent: str
    run_id: Id | None = None
    scheduled_for: Time | None = None
    reason: str | None = None


class DeliveryEventData(View):
    """The delivery of a result."""

    delivery_id: int
    run_id: Id
    agent: str | None = None
    kind: str
    attempts: int
    error: str | None = None


class MessageEventData(View):
    """A message, without its text."""

    message_id: Id
    sender: str
    recipient: str
    kind: str
    run_id: Id | None = Field(None, description="Run that sent it.")


class AgentEventData(View):
    """An agent, without its settings."""

    agent: str


class QuotaEventData(View):
    """A quota or budget in its period."""

    quota: str
    workspace: str
    period: str
    since: str
    percent: int
    tokens: int | None = None
    max_tokens: int | None = None
    usd: str | None = None
    max_usd: str | None = None
    runs: int | None = None
    max_runs: int | None = None


class AlertEventData(View):
    """An alert rule of the installation."""

    alert: str
    text: str
    severity: str
    labels: dict[str, JsonValue] = Field(default_factory=dict)
    value: float | None = None
    since: str
    reminder: bool = Field(False, description="True for the daily repetition.")  # noqa: FBT003


_DATA: Final[dict[str, type[View]]] = {
    "run": RunEventData,
    "approval": CallEventData,
    "question": CallEventData,
    "outcome": CallEventData,
    "schedule": ScheduleEventData,
    "delivery": DeliveryEventData,
    "message": MessageEventData,
    "agent": AgentEventData,
    "quota": QuotaEventData,
    "alert": AlertEventData,
}


class EventOut(View):
    """An event of a workspace."""

    id: str = Field(description="Position in the stream, for `Last-Event-ID`.")
    type: str = Field(description=f"One of {', '.join(EVENTS)}.")
    timestamp: Time
    subject: str = Field(description="Subject, such as `run:0192...` or `delivery:7`.")
    data: (
        RunEventData
        | CallEventData
        | ScheduleEventData
        | DeliveryEventData
        | MessageEventData
        | QuotaEventData
        | AlertEventData
        | AgentEventData
    )

    @classmethod
    def read(cls, number: str, kind: str, at: Any, subject: str, data: dict[str, Any]) -> EventOut:
        """Return an event; its type decides the form of its data."""
        form = _DATA[kind.partition(".")[0]]
        return cls(
            id=number, type=kind, timestamp=at, subject=subject, data=form.model_validate(data)
        )
