"""Questions of a run and its sub-agents to people, and their answers, for all doors.

A question's key names the call's digest, or the wait, as it was shown. So an answer that is sent
twice, or late, decides nothing that its sender has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from pydantic import ValidationError

from agents.journal.waits import REVIEW
from agents.output.text import as_text
from agents.querysets import waits_for_people
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError
from heartbit_site.contract.approvals import ApprovalOut, DecisionIn, OutcomeIn, UncertainCallOut
from heartbit_site.contract.waits import AnswerIn, WaitOut
from heartbit_site.operations import approvals, waits

#: Scope of the keys that answer.
DECIDE: Final = "approvals:decide"
_MOST: Final = 50  # questions of a kind that are shown at once
#: How a call of unknown outcome is resolved.
OUTCOME_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "outcome": {
            "type": "string",
            "enum": [*approvals.RESOLUTIONS],
            "description": "retry: repeat the call; confirm: it took effect; skip: leave it.",
        },
        "result": {"type": "string", "description": "With confirm: the result of the call."},
    },
    "required": ["outcome"],
}
_UNDER_REVIEW: Final = "A person reviews the result before it is delivered."
_UNANSWERED: Final = "The person gave no answer."


class UnfitReplyError(HeartbitError):
    """A reply does not fit what was asked."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """An open question to people.

    Attributes:
        kind: ``decision``: a call is approved or denied; ``answer``: a form is filled in;
            ``outcome``: people say whether a call took effect.
        run_id: The run, or the sub-agent's run, that asks.
        place: Id of the call; of an answer to no call: key of the wait.
        call_id: Id of the call; empty: no call waits.
        digest: Digest of the call as it is shown; empty: an answer that is not a call's approval.
        text: What a person reads.
        form: JSON Schema of the answer or the outcome; None: of a decision.
        tool: The call's tool; empty: no call waits.
        since: Time since which it waits; None: it is not known.
        expires_at: Time at which it is closed without an answer; None: never.
        is_answered: True if the caller has approved it, and others have to.
    """

    kind: Literal["decision", "answer", "outcome"]
    run_id: str
    place: str
    call_id: str
    digest: str
    agent: str
    text: str
    form: dict[str, Any] | None
    tool: str
    arguments: dict[str, Any]
    since: datetime | None
    expires_at: datetime | None = None
    is_answered: bool = False

    @property
    def key(self) -> str:
        """Name by which a reply means it."""
        return ":".join((self.kind, self.run_id, self.place, self.digest))

    def decide(self, access: Access, **said: Any) -> None:
        """Approve, edit or deny the call.

        Args:
            access: The caller.
            said: Fields of ``DecisionIn``, without the digest.

        Raises:
            UnfitReplyError: They do not fit.
            HeartbitError: As ``approvals.decide``.
        """
        try:
            body = DecisionIn.model_validate({**said, "digest": self.digest})
        except ValidationError as error:
            raise _misfit(error) from None
        approvals.decide(access, self.run_id, self.place, body)

    def answer(self, access: Access, value: Any) -> None:
        """Give an answer; None declines, where the question allows it.

        Raises:
            HeartbitError: As ``approvals.decide`` and ``waits.answer_wait``.
        """
        if self.digest:
            self.decide(access, verdict="answer", answer=value)
        else:
            waits.answer_wait(access, self.run_id, self.place, AnswerIn(answer=value))

    def resolve(self, access: Access, **said: Any) -> None:
        """Say whether the call took effect.

        Args:
            access: The caller.
            said: Fields of ``OutcomeIn``.

        Raises:
            UnfitReplyError: They do not fit.
            HeartbitError: As ``approvals.resolve_call``.
        """
        try:
            body = OutcomeIn.model_validate(said)
        except ValidationError as error:
            raise _misfit(error) from None
        approvals.resolve_call(access, self.run_id, self.place, body)

    def decline(self, access: Access, reason: str = _UNANSWERED) -> None:
        """Deny the call, leave the question unanswered, or the outcome open.

        Raises:
            HeartbitError: As ``decide``, ``answer`` and ``resolve``.
        """
        if self.kind == "outcome":
            self.resolve(access, outcome="skip")
        elif self.digest:
            self.decide(access, verdict="deny", reason=reason)
        else:
            self.answer(access, None)


def open_questions(access: Access, run_id: UUID) -> list[OpenQuestion]:
    """Return what a run and its sub-agents ask: answers, then decisions, then outcomes."""
    rows = waits_for_people(access.workspace)
    if not rows.filter(Q(run=run_id) | Q(run__root=run_id)).exists():
        return []
    of_run: Any = {"run": str(run_id), "limit": _MOST}
    me = approvals.decider(access).name
    return [
        *(_of_wait(access, one) for one in waits.list_waits(access, **of_run).waits),
        *(_of_call(one, me) for one in approvals.list_approvals(access, **of_run).calls),
        *map(_of_doubt, approvals.list_uncertain_calls(access, **of_run).calls),
    ]


def inbox_of(access: Access) -> str:
    """Return the address of the page where people answer."""
    return f"{settings.HEARTBIT_PUBLIC_URL}/w/{access.workspace.slug}/inbox/"


def _of_wait(access: Access, wait: WaitOut) -> OpenQuestion:
    text, form = wait.question, wait.answer_schema
    if wait.kind == REVIEW.name and not access.allows(DECIDE):
        # A client that cannot decide gets the result once it is approved.
        text, form = _UNDER_REVIEW, {}
    return OpenQuestion(
        "answer",
        run_id=str(wait.run_id),
        place=wait.key,
        call_id=wait.call_id,
        digest="",
        agent=wait.agent,
        text=text or f"{wait.agent} waits for {wait.waits_for}.",
        form=form,
        tool=wait.tool,
        arguments={},
        since=wait.waiting_since,
        expires_at=wait.expires_at,
    )


def _of_call(call: ApprovalOut, me: str) -> OpenQuestion:
    text = str(call.arguments.get("question", ""))
    if call.answer_schema is None:
        asks = f"{call.agent} asks to call {call.tool} with {as_text(call.arguments)}"
        text = "\n\n".join(part for part in (call.summary, asks, call.reason) if part)
    return OpenQuestion(
        "decision" if call.answer_schema is None else "answer",
        run_id=str(call.run_id),
        place=call.call_id,
        call_id=call.call_id,
        digest=call.digest,
        agent=call.agent,
        text=text,
        form=call.answer_schema,
        tool=call.tool,
        arguments=call.arguments,
        since=call.waiting_since,
        expires_at=call.expires_at,
        is_answered=me in call.approved_by,
    )


def _of_doubt(call: UncertainCallOut) -> OpenQuestion:
    asks = f"It is unknown whether {call.tool} of {call.agent} took effect, which was called with "
    return OpenQuestion(
        "outcome",
        run_id=str(call.run_id),
        place=call.call_id,
        call_id=call.call_id,
        digest=call.question,
        agent=call.agent,
        text=f"{asks}{as_text(call.arguments)}",
        form=OUTCOME_FORM,
        tool=call.tool,
        arguments=call.arguments,
        since=call.waiting_since,
    )


def _misfit(error: ValidationError) -> UnfitReplyError:
    return UnfitReplyError(f"The reply does not fit: {error.errors()[0]['msg']}.")
