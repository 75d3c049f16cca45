"""Approvals and questions of a task's run and its sub-agents, and replies to them.

A reply to an approval names the call as it was shown, by its key or by a code that its text has:
so a reply that is sent twice, or late, decides nothing that its sender has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import hexdigits
from typing import Any, Final

from django.db import transaction

from agents.choices import TERMINAL
from agents.models import Run
from agents.runs.idempotency_keys import InternalKey, run_with
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, record
from heartbit_site.base.models import AuditEntry
from heartbit_site.doors.a2a.errors import INVALID_PARAMS, UNSUPPORTED_OPERATION, A2AError
from heartbit_site.doors.a2a.requests import SentMessage
from heartbit_site.doors.questions import (
    DECIDE,
    OpenQuestion,
    UnfitReplyError,
    inbox_of,
    open_questions,
)
from tools.calls.questions import FORM, read_answer

_CODE: Final = 12  # characters of a digest
_VERDICTS: Final = ("approve", "deny")
_REPLIED: Final = "task.reply"
_OTHER: Final = "The task asks something else: get it, and send data with the key of what it asks."


def text_of(access: Access, asked: OpenQuestion) -> str:
    """Return what a person, or another agent, reads."""
    may_decide = asked.kind == "decision" and not asked.is_answered and access.allows(DECIDE)
    return f"{asked.text}\n{_how(asked)}" if may_decide else asked.text


def data_of(asked: OpenQuestion) -> dict[str, Any]:
    """Return a question for programs."""
    return {"key": asked.key, "text": asked.text, "schema": asked.form}


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
    asks = [one for one in open_questions(access, run.pk) if not one.is_answered]
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
    try:
        ask = _take(access, asks, text, message.data)
    except UnfitReplyError as error:
        raise A2AError(INVALID_PARAMS, str(error)) from None
    details = {"message": message.message_id, "ask": ask.key}
    by, label = actor_of(access), run.agent
    record(
        by, _REPLIED, workspace=run.workspace, target=f"run:{run.pk}", label=label, details=details
    )


def _take(
    access: Access, asks: Sequence[OpenQuestion], text: str, data: Sequence[Any]
) -> OpenQuestion:
    """Give a reply to the question that it means, and return the question.

    Raises:
        A2AError: It is to nothing that is asked now.
        HeartbitError: It does not fit.
    """
    for given in data:
        if isinstance(given, dict) and "key" in given:
            for ask in asks:
                if ask.key == given["key"]:
                    _take_data(access, ask, {k: v for k, v in given.items() if k != "key"})
                    return ask
            raise A2AError(INVALID_PARAMS, _OTHER)
    verdict, code, reason = (*text.split(None, 2), "", "", "")[:3]
    is_coded = verdict.lower() in _VERDICTS and len(code) == _CODE and set(code) <= set(hexdigits)
    for ask in asks if is_coded else ():
        if ask.kind == "decision" and code == ask.digest[:_CODE]:
            is_denied = verdict.lower() == "deny"
            ask.decide(access, verdict=verdict.lower(), **({"reason": reason} if is_denied else {}))
            return ask
    forms = [ask for ask in asks if ask.kind == "answer"]
    if is_coded or len(forms) > 1:
        raise A2AError(INVALID_PARAMS, _OTHER)
    if not forms:
        raise A2AError(INVALID_PARAMS, _how(asks[0]))
    [ask] = forms
    ask.answer(access, data[0] if data else read_answer({FORM: ask.form}, text))
    return ask


def _take_data(access: Access, ask: OpenQuestion, said: dict[str, Any]) -> None:
    """Give a reply that a program has formed."""
    if ask.kind == "decision" or "verdict" in said:
        ask.decide(access, **said)
    elif ask.kind == "outcome":
        ask.resolve(access, **said)
    elif said.keys() == {"answer"}:
        ask.answer(access, said["answer"])
    else:
        raise UnfitReplyError("The reply does not fit: it needs the key and the answer, no more.")


def _how(ask: OpenQuestion) -> str:
    """Return how a message decides about a call, or its outcome."""
    if ask.kind == "outcome":
        return "Reply with data: the key of what is asked, and outcome: retry, confirm or skip."
    code = ask.digest[:_CODE]
    return f"Reply `approve {code}`, or `deny {code}` and why."
