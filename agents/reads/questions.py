"""Questions that open waits ask people: their texts, and the forms of the answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from agents.journal.events import BudgetAsked, CallWaiting, ReviewRequested
from agents.journal.waits import BUDGET, QUESTION, REVIEW, kind_of
from agents.models import RunEvent, Wait
from agents.output.fences import in_fence
from agents.output.text import as_text
from heartbit_site.base.access import Access
from heartbit_site.base.markdown import to_html
from heartbit_site.base.review_policy import ReviewPolicy
from heartbit_site.base.visible_text import visible

#: Scope of the people whom a budget asks to go on: those who change budgets.
OWNERS: Final = "agents:write"
#: Longest message of a reviewer, in characters.
MOST_OF_MESSAGE: Final = 20_000
_LONGEST_RESULT: Final = 1_000_000
_DECISIONS: Final = {
    "approve": "it is delivered",
    "changes": "the agent reads the message and continues",
    "edit": "the result below is delivered instead",
    "reject": "the run fails, and nothing is delivered as its result",
}


@dataclass(frozen=True, slots=True)
class WaitQuestion:
    """Text and form of a question.

    Attributes:
        text: Empty: the kind of wait needs no text.
        form: JSON Schema of the answer; its ``default`` is the beginning of an answer.
        group: Django group whose members may answer; empty: all who may decide in the workspace.
        person: The only person who may answer, by username; empty: as ``group`` says.
        scope: Right that the answer needs.
        result: Markdown of the result that a review asks about; empty for other questions.
    """

    text: str
    form: dict[str, Any]
    group: str = ""
    person: str = ""
    scope: str = "approvals:decide"
    result: str = ""

    @property
    def result_html(self) -> str:
        """The result as sanitised HTML, with hidden characters made visible."""
        return to_html(visible(self.result))

    def is_for(self, access: Access, groups: Collection[str]) -> bool:
        """Return True if a person in these groups may answer."""
        is_theirs = self.person in ("", access.name) and (not self.group or self.group in groups)
        return is_theirs and access.allows(self.scope)


def question_of(wait: Wait) -> WaitQuestion:
    """Return the question that a wait asks a person."""
    return questions_of([wait])[wait.pk]


def first_question_of(wait: Wait) -> WaitQuestion:
    """Return the question that a wait asked before its escalation."""
    before = copy(wait)
    before.escalated_at = None
    return question_of(before)


def questions_of(waits: Iterable[Wait]) -> dict[int, WaitQuestion]:
    """Return the questions of waits by the waits' ids, with one query."""
    rows = list(waits)
    kinds = {QUESTION.name, REVIEW.name, BUDGET.name}
    runs = {wait.run_id for wait in rows if wait.kind in kinds}
    asked: dict[tuple[UUID, str], WaitQuestion] = {}
    if runs:
        types = (CallWaiting.type, ReviewRequested.type, BudgetAsked.type)
        events = RunEvent.objects.filter(run__in=runs, type__in=types)
        for run_id, kind, payload in events.values_list("run_id", "type", "payload"):
            if kind == ReviewRequested.type:
                asked[run_id, f"{REVIEW.name}:{payload['number']}"] = review_question(payload)
            elif kind == BudgetAsked.type:
                key = f"{BUDGET.name}:{payload['budget']}:{payload['number']}"
                asked[run_id, key] = WaitQuestion(
                    payload["text"], dict(BUDGET.answer or {}), scope=OWNERS
                )
            elif payload["kind"] == QUESTION.name:
                found = WaitQuestion(payload["question"], payload["form"], payload.get("group", ""))
                asked |= {(run_id, key): found for key in payload["keys"]}
    return {wait.pk: _asked(wait, asked.get((wait.run_id, wait.key))) for wait in rows}


def _asked(wait: Wait, found: WaitQuestion | None) -> WaitQuestion:
    if found is None:
        return WaitQuestion("", dict(kind_of(wait.kind).answer or {}))
    return found if wait.escalated_at is None else replace(found, group="", person="")


def review_question(payload: Mapping[str, Any]) -> WaitQuestion:
    """Return the question of a review, from the payload of its event."""
    policy, structured = ReviewPolicy(payload["by"]), payload["structured"]
    decisions = [one for one in _DECISIONS if one != "changes" or payload["can_continue"]]
    result: dict[str, Any] = {"type": "string", "maxLength": _LONGEST_RESULT}
    if structured is not None:
        result = dict(payload["response_schema"] or {})
    result = {"description": "Delivered instead of the result, if it is edited."} | result
    form = {
        "type": "object",
        "properties": {
            "decision": {
                "enum": decisions,
                "description": "; ".join(f"{one}: {_DECISIONS[one]}" for one in decisions),
            },
            "message": {
                "type": "string",
                "maxLength": MOST_OF_MESSAGE,
                "description": "Changes for the agent to make, or the reason of a rejection.",
            },
            "result": result,
        },
        "required": ["decision"],
        "additionalProperties": False,
        "default": {"result": payload["output"] if structured is None else structured},
    }
    shown = payload["output"] if structured is None else in_fence(as_text(structured), "json")
    return WaitQuestion(payload["output"], form, policy.group, policy.person, result=shown)
