"""Result of a run of the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, Self
from uuid import UUID

from agents.output.results import ResultOut
from heartbit_site.base.errors import HeartbitError

Status = Literal["succeeded", "failed", "cancelled", "quarantined"]


class RunFailedError(HeartbitError):
    """A run ended without an answer; the message is the run's own sentence."""


class AnswerError(HeartbitError):
    """An answer fits its schema, but not the pydantic class."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a run and its sub-agents."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact of a run's journal.

    Attributes:
        run_id: The run; sub-agents have runs of their own.
        agent: Its agent's name.
        seq: Its position in that run's journal, from 1.
        type: Such as ``tool.finished``; ``agents.journal.events`` has all of them.
        data: The event, an instance of one of the classes there.
        at: Time of the journal entry.
    """

    run_id: UUID
    agent: str
    seq: int
    type: str
    data: Any
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of a run.

    Attributes:
        text: The answer; for a run that did not succeed, its text so far.
        structured: The answer in the form of the response schema, or an instance of the given
            pydantic class.
        status: Final status.
        error: Why the run did not succeed, in one sentence; empty if it did.
        run_id: Its id: ``heartbit status <run_id>`` and the admin show its journal.
        usage: Tokens, sub-agents included.
        cost: US dollars, sub-agents included; None if a model's price is unknown.
        blackboard: The team's shared entries at the end.
        events: The journals of the run and its sub-agents, as they were read.
        outcome: The result in the form of every interface: ``status`` (``success``, ``partial`` or
            ``failure``), ``data``, ``artifacts``, ``metrics`` and ``error``.
    """

    text: str
    structured: Any
    status: Status
    error: str
    run_id: UUID
    usage: Usage
    cost: Decimal | None
    blackboard: Mapping[str, Any]
    events: tuple[Event, ...]
    outcome: ResultOut

    @property
    def succeeded(self) -> bool:
        """True if there is a final answer."""
        return self.status == "succeeded"

    def expect(self) -> Self:
        """Return the result itself, if the run succeeded.

        Raises:
            RunFailedError: The run did not succeed; the message says why.
        """
        if not self.succeeded:
            raise RunFailedError(self.error)
        return self
