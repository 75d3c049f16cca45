"""Approvals and questions of a task's run and its sub-agents, and replies to them.

A reply to an approval names the call as it was shown, by its key or by a code that its text has:
so a reply that is sent twice, or late, decides nothing that its sender has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from string import hexdigits
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from pydantic import ValidationError

from agents.choices import TERMINAL
from agents.models import Run
from agents.output.text import as_text
from agents.querysets import waits_for_people
from agents.runs.idempotency_keys import InternalKey, run_with
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, record
from heartbit_site.base.models import AuditEntry
from heartbit_site.contract.approvals import DecisionIn
from heartbit_site.contract.waits import AnswerIn
from heartbit_site.doors.a2a.errors import INVALID_PARAMS, UNSUPPORTED_OPERATION, A2AError
from heartbit_site.doors.a2a.requests import SentMessage
from heartbit_site.operations import approvals, waits
from tools.calls.questions import FORM, read_answer

DECIDE: Final = "approvals:decide"
_CODE: Final = 12  # characters of a digest
_VERDICTS: Final = ("approve", "deny")
_REPLIED: Final = "task.reply"
_OTHER: Final = "The task asks something else: get it, and send data with the key of what it asks."


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing that a task asks.

    Attributes:
        place: The run, and the id of the call or the key of the wait.
        digest: Digest of the call as it is shown; empty: the question is not a call.
        text: What a person, or another agent, reads.
        form: JSON Schema of the answer; None: the call is approved or denied, or it is uncertain
            whether it took effect, which people say elsewhere.
        since: Time since which it waits; None: it is not known.
    """

    place: tuple[str, str]
    digest: str
    text: str
    form: dict[str, Any] | None
    since: datetime | None

    @property
    def is_open_to_replies(self) -> bool:
        """True if a message may decide or answer it."""
        return bool(self.digest) or self.form is not None

    @property
    def key(self) -> str:
        """Name by which a reply means it."""
        return ":".join(filter(None, ("call" if self.digest else "wait", *self.place, self.digest)))

    def data(self) -> dict[str, Any]:
        """Return it for programs."""
        return {"key": self.key, "text": self.text, "schema": self.form}


def open_asks(access: Access, run_id: UUID) -> list[Ask]:
    """Return what a run and its sub-agents ask: first the questions, then the calls."""
    if not waits_for_people(access.workspace).filter(run__root=run_id).exists():
        return []
    of_run: Any = {"run": str(run_id), "limit": 50}
    me = approvals.decider(access).name
    found = [
        Ask(
            (str(one.run_id), one.key),
            "",
            one.question or one.label,
            one.answer_schema,
            one.waiting_since,
        )
        for one in waits.list_waits(access, **of_run).waits
    ]
    for call in approvals.list_approvals(access, **of_run).calls:
        digest = "" if me in call.approved_by else call.digest  # then others are asked
        if call.answer_schema is not None:
            text = str(call.arguments.get("question") or call.reason)
        else:
            text = f"{call.agent} asks to call {call.tool} with {as_text(call.arguments)}."
            how = f"\n{_how(digest)}" if digest and access.allows(DECIDE) else ""
            text = f"{text} {call.reason}".strip() + how
        place = (str(call.run_id), call.call_id)
        found.append(Ask(place, digest, text, call.answer_schema, call.waiting_since))
    for doubt in approvals.list_uncertain_calls(access, **of_run).calls:
        text = (
            f"It is not known whether {doubt.tool} took effect: people say it at {inbox_of(access)}"
        )
        place = (str(doubt.run_id), doubt.question)
        found.append(Ask(place, "", text, None, doubt.waiting_since))
    return found


def inbox_of(access: Access) -> str:
    """Return the address of the page where people decide."""
    return f"{settings.HEARTBIT_PUBLIC_URL}/w/{access.workspace.slug}/approvals/"


@transaction.atomic
def reply(access: Access, run: Run, message: SentMessage) -> None:
    """Decide or answer what a task asks; a message that was sent before changes nothing.

    Raises:
        A2AError: The task asks nothing, or the message is no reply to what it asks.
        HeartbitError: The caller may not decide, or the answer does not fit.
    """
    key = InternalKey(f"heartbit:a2a:{run.pk}:{message.message_id}")
    run_with(access.workspace, key.text)  # waits for the same message, sent at the same time
    entries = AuditEntry.objects.filter(target=f"run:{run.pk}", action=_REPLIED)
    if entries.filter(details__message=message.message_id).exists():
        return
    text = message.text()
    asks = [one for one in open_asks(access, run.pk) if one.is_open_to_replies]
    if not asks:
        state = "has ended" if run.status in TERMINAL else "asks nothing"
        raise A2AError(
            UNSUPPORTED_OPERATION,
            f"The task {state}: send the message with its contextId alone, as the next task.",
        )
    if not access.allows(DECIDE):
        raise A2AError(
            UNSUPPORTED_OPERATION,
            f"Your key may not decide (scope {DECIDE}): people decide at {inbox_of(access)}",
        )
    ask, said = _meant(asks, text, message.data)
    try:
        if ask.digest:
            body = DecisionIn.model_validate({**said, "digest": ask.digest})
            approvals.decide(access, *ask.place, body)
        else:
            waits.answer_wait(access, *ask.place, AnswerIn.model_validate(said))
    except ValidationError as error:
        raise A2AError(
            INVALID_PARAMS, f"The reply does not fit: {error.errors()[0]['msg']}."
        ) from None
    details = {"message": message.message_id, "ask": ask.key}
    by, label = actor_of(access), run.agent
    record(
        by, _REPLIED, workspace=run.workspace, target=f"run:{run.pk}", label=label, details=details
    )


def _meant(asks: Sequence[Ask], text: str, data: Sequence[Any]) -> tuple[Ask, dict[str, Any]]:
    """Return what a reply is to, and the decision or the answer.

    Raises:
        A2AError: It is to nothing that is asked now.
    """
    for given in data:
        if isinstance(given, dict) and "key" in given:
            for ask in asks:
                if ask.key == given["key"]:
                    rest = {name: value for name, value in given.items() if name != "key"}
                    return ask, {"verdict": "answer", **rest} if ask.digest and ask.form else rest
            raise A2AError(INVALID_PARAMS, _OTHER)
    verdict, code, reason = (*text.split(None, 2), "", "", "")[:3]
    is_coded = verdict.lower() in _VERDICTS and len(code) == _CODE and set(code) <= set(hexdigits)
    for ask in asks if is_coded else ():
        if ask.digest and code == ask.digest[:_CODE]:
            is_denied = verdict.lower() == "deny"
            return ask, {"verdict": verdict.lower(), **({"reason": reason} if is_denied else {})}
    questions = [ask for ask in asks if ask.form is not None]
    if is_coded or len(questions) > 1:
        raise A2AError(INVALID_PARAMS, _OTHER)
    if not questions:
        raise A2AError(INVALID_PARAMS, _how(asks[0].digest))
    [ask] = questions
    answer = data[0] if data else read_answer({FORM: ask.form}, text)
    return ask, {"answer": answer, **({"verdict": "answer"} if ask.digest else {})}


def _how(digest: str) -> str:
    """Return how to decide about a call."""
    return f"Reply `approve {digest[:_CODE]}`, or `deny {digest[:_CODE]}` and why."
