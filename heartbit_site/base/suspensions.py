"""Waits of tools that cannot answer yet, and the outcomes passed to them later. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

#: Builds a tool's result from the outcomes of its waits.
Resume = Callable[["tuple[WaitOutcome, ...]"], Any]
#: Kind of the wait for a reply.
QUESTION: Final = "tool_question"
#: Kind of the wait for a remote agent.
REMOTE: Final = "remote"


@dataclass(frozen=True, slots=True)
class ChildTask:
    """A run that another run, or a tool of it, asks the runtime to start and waits for.

    Attributes:
        run_id: The run's id if the tool has already stored it; None for a new one.
        version: Hash of a version of the agent; empty: its current one.
        payload: Payload of the run, if it has one.
        model: ``provider:model``; empty for the one that its parent was started with, else its own.
        strong: True for the stronger model of the agent's version, if it has one.
        response_schema: Response schema in place of the agent's own; None: the agent's own.
        queue: Queue of the run; empty: its agent's.
        tool: Tool that the run calls instead of asking a model; empty: none.
        arguments: Arguments of that call, as JSON.
        conversation: Conversation whose earlier runs the run continues; None: none. No two
            unfinished children may have the same.
    """

    agent: str
    task: str
    run_id: UUID | None = None
    version: str = ""
    payload: Any = None
    model: str = ""
    strong: bool = False
    response_schema: Mapping[str, Any] | None = None
    queue: str = ""
    tool: str = ""
    arguments: str = "{}"
    conversation: UUID | None = None

    def row(self, run_id: UUID) -> dict[str, Any]:
        """Return the run in the form that ``heartbit_suspend`` takes."""
        row = {
            "agent": self.agent,
            "task": self.task,
            "version": self.version or None,
            "payload": self.payload,
            "model": self.model or None,
            "strong": self.strong or None,
            "response_schema": self.response_schema,
            "queue": self.queue or None,
            "conversation": None if self.conversation is None else str(self.conversation),
        }
        if self.tool:
            row["call"] = {"id": "call", "name": self.tool, "arguments": self.arguments}
        return {"id": str(run_id), **{name: v for name, v in row.items() if v is not None}}


@dataclass(frozen=True, slots=True)
class Question:
    """Question of a tool to a person, found while it ran: the tool is called again with the reply.

    Attributes:
        text: The question, for people.
        form: JSON Schema of the answer.
        state: Text returned to the tool.
        group: Django group whose members may answer; empty: all who may decide in the workspace.
    """

    text: str
    form: Mapping[str, Any]
    state: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Suspension:
    """Result of a tool that cannot answer yet: the run frees its worker until all waits resolve.

    Attributes:
        children: Runs to start; each becomes one durable wait of the calling run.
        timeout_seconds: Time after which open waits expire and unfinished children are cancelled.
        kind: Kind of the wait (``agents.journal.waits``). Without children there is one wait, of
            this kind.
        question: Question for a person, in a wait of the kind ``QUESTION``; the tool is then called
            again, so no ``resume`` is needed.
        state: Text with which the tool is called again after the wait (``ToolContext.reply``);
            empty: ``resume`` builds the result. A question has a state of its own.
    """

    children: tuple[ChildTask, ...]
    timeout_seconds: float
    kind: str = "child"
    question: Question | None = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class WaitOutcome:
    """Outcome of one wait of a suspended call: its subject (for a child: the agent) and value."""

    subject: str
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """End of a wait after which a tool is called again: the reply to its question, or the time.

    Attributes:
        number: Number of the question, or of the wait with a state, in this call, starting at 1.
        state: The ``state`` of the question, or of the suspension.
        status: answered; or expired, if no person answered in time or the call waited for a time.
        value: The answer, which fits the form; None if it was declined or has expired.
    """

    number: int
    state: str
    status: str
    value: Any = None
