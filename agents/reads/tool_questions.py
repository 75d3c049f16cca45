"""Forms of waits that a person answers: their kind's, or that of the question that a tool asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agents.journal.events import CallWaiting
from agents.journal.waits import QUESTION, kind_of
from agents.models import RunEvent, Wait


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """Text and form of a question.

    Attributes:
        text: Empty: the kind of wait says it all.
        form: JSON Schema of the answer.
    """

    text: str
    form: dict[str, Any]


def question_of(wait: Wait) -> ToolQuestion:
    """Return what a person is asked by a wait."""
    return questions_of([wait])[wait.pk]


def questions_of(waits: Iterable[Wait]) -> dict[int, ToolQuestion]:
    """Return what people are asked by waits, by their ids; one query for all of them."""
    rows = list(waits)
    runs = {wait.run_id for wait in rows if wait.kind == QUESTION.name}
    asked: dict[tuple[UUID, str], ToolQuestion] = {}
    if runs:
        events = RunEvent.objects.filter(
            run__in=runs, type=CallWaiting.type, payload__kind=QUESTION.name
        )
        for run_id, payload in events.values_list("run_id", "payload"):
            found = ToolQuestion(payload["question"], payload["form"])
            asked |= {(run_id, key): found for key in payload["keys"]}
    return {
        wait.pk: asked.get((wait.run_id, wait.key))
        or ToolQuestion("", dict(kind_of(wait.kind).answer or {}))
        for wait in rows
    }
