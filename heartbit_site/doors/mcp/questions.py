"""Questions of a run to people, as forms that an MCP client shows (``elicitation/create``).

A question is answered only while it is open, and as it was shown: its key names the call's digest
or the wait. So an answer that is sent twice, or late, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from django.db.models import Q
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult

from agents.output.text import as_text
from agents.querysets import waits_for_people
from heartbit_site.base.access import Access
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.rights import forbidden
from heartbit_site.contract.approvals import ApprovalOut, DecisionIn, OutcomeIn, UncertainCallOut
from heartbit_site.contract.waits import AnswerIn, WaitOut
from heartbit_site.doors.mcp.forms import FormError, flat_form, value_in
from heartbit_site.operations import approvals, waits

DECIDE: Final = "approvals:decide"
_LIMIT: Final = 50  # open questions of one run that are shown at once
_DECISION: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["approve", "deny"]},
        "reason": {"type": "string", "description": "Reason of a denial, which the agent reads."},
    },
    "required": ["decision"],
}
_OUTCOME: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "outcome": {
            "type": "string",
            "enum": ["retry", "confirm", "skip"],
            "description": "retry: repeat the call; confirm: it took effect; skip: leave it.",
        },
        "result": {"type": "string", "description": "With confirm: the result of the call."},
    },
    "required": ["outcome"],
}
Answer = Callable[[Access, Literal["accept", "decline"], Mapping[str, Any]], object]


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """An open question.

    Attributes:
        text: What a person reads.
        form: JSON Schema of the answer, as flat as clients show it.
        answer: Answers it.
    """

    text: str
    form: dict[str, Any]
    answer: Answer

    def request(self) -> ElicitRequest:
        """Return the question as a request to the client."""
        return ElicitRequest(
            params=ElicitRequestFormParams(message=self.text, requested_schema=self.form)
        )


def open_questions(access: Access, run_id: UUID) -> dict[str, OpenQuestion]:
    """Return the questions of a run and its sub-agents that wait for an answer, by their keys."""
    waiting = waits_for_people(access.workspace).filter(Q(run=run_id) | Q(run__root=run_id))
    if not waiting.exists():
        return {}
    of_run: Any = {"run": str(run_id), "limit": _LIMIT}
    me, waiting_calls = approvals.decider(access).name, approvals.list_approvals(access, **of_run)
    calls = [one for one in waiting_calls.calls if me not in one.approved_by]
    doubts = approvals.list_uncertain_calls(access, **of_run).calls
    asked = waits.list_waits(access, **of_run).waits
    return {
        **{f"approval:{one.run_id}:{one.call_id}:{one.digest}": _approval(one) for one in calls},
        **{f"outcome:{one.run_id}:{one.call_id}:{one.question}": _doubt(one) for one in doubts},
        **{f"wait:{one.run_id}:{one.key}": _wait(one) for one in asked},
    }


def answer_questions(access: Access, run_id: UUID, answers: Mapping[str, ElicitResult]) -> None:
    """Answer questions of a run; those that are not open, and cancelled forms, change nothing.

    Raises:
        ForbiddenError: The caller may not decide.
        HeartbitError: An answer does not fit; those before it stand.
    """
    if not access.allows(DECIDE):
        raise forbidden(access, DECIDE)
    found = open_questions(access, run_id)
    for key, given in answers.items():
        if key not in found or given.action == "cancel":
            continue
        content = given.content or {}
        problems = validate(found[key].form, content) if given.action == "accept" else []
        if problems:
            raise FormError(f"The answer does not fit: {'; '.join(problems)}.")
        found[key].answer(access, given.action, content)


def _approval(call: ApprovalOut) -> OpenQuestion:
    place, form = (call.run_id, call.call_id), call.answer_schema

    def answer(access: Access, action: str, given: Mapping[str, Any]) -> None:
        said: dict[str, Any] = {"verdict": "deny", "reason": given.get("reason", "")}
        if action == "accept" and form is not None:
            said = {"verdict": "answer", "answer": value_in(form, given)}
        elif action == "accept" and given["decision"] == "approve":
            said = {"verdict": "approve"}
        body = DecisionIn.model_validate({"digest": call.digest, **said})
        approvals.decide(access, *place, body)

    if form is not None:
        return OpenQuestion(str(call.arguments.get("question", "")), flat_form(form), answer)
    text = f"{call.agent} asks to call {call.tool} with {as_text(call.arguments)}"
    return OpenQuestion(f"{text}\n\n{call.reason}".strip(), _DECISION, answer)


def _doubt(call: UncertainCallOut) -> OpenQuestion:
    def answer(access: Access, action: str, given: Mapping[str, Any]) -> None:
        said = {"outcome": "skip"} if action == "decline" else dict(given)
        approvals.resolve_call(access, call.run_id, call.call_id, OutcomeIn.model_validate(said))

    text = f"It is unknown whether {call.tool} of {call.agent} took effect, which was called with "
    return OpenQuestion(f"{text}{as_text(call.arguments)}", _OUTCOME, answer)


def _wait(wait: WaitOut) -> OpenQuestion:
    def answer(access: Access, action: str, given: Mapping[str, Any]) -> None:
        value = None if action == "decline" else value_in(wait.answer_schema, given)
        waits.answer_wait(access, wait.run_id, wait.key, AnswerIn(answer=value))

    text = wait.question or f"{wait.agent} waits for {wait.waits_for}."
    return OpenQuestion(text, flat_form(wait.answer_schema), answer)
