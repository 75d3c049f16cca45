"""Waits for people: notify the deciders, and resolve uncertain calls and questions."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from smtplib import SMTPException
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.utils import timezone

from agents.actions.fleet import wake_run
from agents.actions.notifications import notify_browsers
from agents.actions.quotas import allow_until_spent
from agents.approvals.call_display import token_of, token_of_review
from agents.approvals.call_summary import summarize_call
from agents.approvals.deciders import members_only
from agents.approvals.questions import answer_schema
from agents.choices import CallResolution
from agents.delivery.report import one_line
from agents.errors import CallClosedError, InvalidEditError
from agents.journal.events.budget import NO_BUDGET, budget_of
from agents.journal.waits import BUDGET, REVIEW, kind_of
from agents.live.changes import notify_on_commit
from agents.models import Run, ToolCall, Wait
from agents.querysets import calls_waiting, shown_tool, waits_for_answers, waits_for_people
from agents.reads.questions import WaitQuestion, first_question_of, question_of, questions_of
from agents.runs.run_audit import record_of_call
from agents.runs.sql_functions import call_function
from heartbit_site.base import audit
from heartbit_site.base.access import members_with
from heartbit_site.base.audit import Actor
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.people import User
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text
from heartbit_site.base.visible_text import visible

logger = logging.getLogger(__name__)

_TEXT = """{reason}{more}

{facts}

Look at the whole call and decide:
{link}

The link is yours alone and serves once. All that waits: {inbox}
"""
_QUESTION = """{agent} asks you a question.{more}

{facts}

Read it, and answer or decline:
{link}

The link is yours alone and serves for one answer. All that waits: {inbox}
"""
_REVIEW = """{agent} has a result, which you review before it is delivered.{more}

{facts}

Read it, and approve, change or reject it:
{link}

The link is yours alone and serves for one decision. All that waits: {inbox}
"""
_WAIT = """{agent} waits for {what}.{more}

{facts}

Look at it and answer: {inbox}
"""
_MOST_OF_TASK = 300
_MOST_OF_LINE = 80
_REMINDED = " No one has decided in time."
_ESCALATED = " No one has decided in time, so you may decide as well."


def notify_approvers(run_id: UUID, *, by_mail: bool = True) -> int:
    """Mail a link for each new waiting call of the run to each member who may decide it.

    Their browsers are notified too, once per wait, and alone without ``by_mail``.

    An unavailable mail server is logged, never raised: the inbox shows the calls too.

    Returns:
        The number of mails sent.
    """
    run = Run.objects.select_related("workspace").filter(pk=run_id).first()
    new = Wait.objects.filter(run=run_id, resolved_at=None, announced_at=None)
    waits = list(waits_for_people().filter(pk__in=new))
    if run is None or not waits:
        return 0
    calls = calls_waiting(run.workspace).filter(run=run, call_id__in=[one.call_id for one in waits])
    to_decide = [
        (call, person)
        for call in calls
        for person in _deciders(run, (call.approval_view or {}).get("group", ""))
    ]
    asked = questions_of(waits_for_answers(run.workspace).filter(pk__in=[one.pk for one in waits]))
    to_answer = [
        (wait, person)
        for wait in waits
        if wait.pk in asked
        for person in _deciders(
            run,
            asked[wait.pk].group,
            asked[wait.pk].person,
            scope=asked[wait.pk].scope,
        )
    ]
    with transaction.atomic():  # whoever is announced is also due for a notification
        Wait.objects.filter(pk__in=[wait.pk for wait in waits]).update(announced_at=timezone.now())
        notify_browsers(run.workspace, {person.pk for _, person in (*to_decide, *to_answer)})
    if not by_mail:
        return 0
    mails = [_mail(call, person) for call, person in to_decide if person.email]
    return _send(mails + [_wait_mail(wait, person) for wait, person in to_answer if person.email])


def notify_escalation(wait_id: int, *, by_mail: bool = True) -> int:
    """Mail a link for an escalated wait to each member who may now decide it, and notify browsers.

    Those who could decide before are reminded. Without ``by_mail`` browsers alone are notified.

    Returns:
        The number of mails sent; 0 if the call was decided meanwhile.
    """
    wait = Wait.objects.select_related("run__workspace").filter(pk=wait_id).first()
    if wait is None or wait.resolved_at is not None:
        return 0
    if wait.kind == REVIEW.name:
        people = _deciders(wait.run, "")
        notify_browsers(wait.run.workspace, {person.pk for person in people})
        asked = first_question_of(wait)
        first = _deciders(wait.run, asked.group, asked.person)
        to_write = [one for one in people if one.email and by_mail]
        return _send([_wait_mail(wait, one, more=_escalated(one, first)) for one in to_write])
    calls = calls_waiting(wait.run.workspace).filter(run=wait.run, call_id=wait.call_id)
    to_decide = [
        (call, person)
        for call in calls
        for person in _deciders(call.run, (call.approval_view or {}).get("escalated_to", ""))
    ]
    notify_browsers(wait.run.workspace, {person.pk for _, person in to_decide})
    written_to = [(call, person) for call, person in to_decide if person.email and by_mail]
    first = [
        one
        for call in calls
        for one in _deciders(call.run, (call.approval_view or {}).get("group", ""))
    ]
    return _send([_mail(call, one, more=_escalated(one, first)) for call, one in written_to])


def _escalated(person: User, first: list[User]) -> str:
    return _REMINDED if person in first else _ESCALATED


def _members(group: str) -> set[int]:
    return set(User.objects.filter(groups__name=group).values_list("pk", flat=True))


def _send(mails: list[EmailMessage]) -> int:
    if not mails:
        return 0
    try:
        return get_connection().send_messages(mails) or 0
    except (SMTPException, OSError) as error:
        logger.warning("%d mails to approvers were not sent (%s)", len(mails), error)
        return 0


def _deciders(
    run: Run, group: str, person: str = "", *, scope: str = "approvals:decide"
) -> list[User]:
    people = get_user_model().objects.order_by("pk")
    found = people.filter(pk__in=members_with(run.workspace, scope))
    if person:
        return list(found.filter(username=person))
    return list(found.filter(groups__name=group) if group else found)


def _mail(call: ToolCall, person: User, *, more: str = "") -> EmailMessage:
    root = settings.HEARTBIT_PUBLIC_URL
    agent, tool = call.run.agent, one_line(shown_tool(call), _MOST_OF_LINE)
    is_question = answer_schema(call) is not None
    reason = visible(str((call.approval_view or {}).get("reason", "")))
    wait = Wait.objects.filter(run=call.run, call_id=call.call_id, resolved_at=None).first()
    # What a question asks stays out of mails, and a model's address is no link in one.
    arguments = (call.approval_view or {}).get("arguments", {})
    summary = "" if is_question else summarize_call(call, arguments).replace("://", "[://]")
    text = (_QUESTION if is_question else _TEXT).format(
        agent=agent,
        more=more,
        reason=reason or f"{agent} asks before it uses {tool}.",
        facts=_facts(call.run, wait, "" if is_question else tool, summary),
        link=f"{root}/approve/{token_of(call, person.pk)}/",
        inbox=_inbox(call.run),
    )
    subject = f"{agent} asks you a question" if is_question else f"{agent} waits for you: {tool}"
    return EmailMessage(subject, text, to=[person.email])


def _wait_mail(wait: Wait, person: User, *, more: str = "") -> EmailMessage:
    agent, what = wait.run.agent, kind_of(wait.kind).waits_for
    facts = _facts(wait.run, wait)
    if wait.kind == REVIEW.name:
        link = f"{settings.HEARTBIT_PUBLIC_URL}/approve/{token_of_review(wait, person.pk)}/"
        text = _REVIEW.format(
            agent=agent, facts=facts, more=more, link=link, inbox=_inbox(wait.run)
        )
        return EmailMessage(f"{agent} has a result for you to review", text, to=[person.email])
    # A budget's question is Heartbit's own; what a model asks stays out of mails.
    more = f" {question_of(wait).text}" if wait.kind == BUDGET.name else ""
    text = _WAIT.format(agent=agent, what=what, more=more, facts=facts, inbox=_inbox(wait.run))
    return EmailMessage(f"{agent} waits for {what}", text, to=[person.email])


def _facts(run: Run, wait: Wait | None, tool: str = "", summary: str = "") -> str:
    """Return the call, the task that a person gave, its author, and the deadline, a line each."""
    deadline = wait.expires_at if wait is not None else None
    facts = {
        "Call": summary,
        "Tool": tool,
        "Task": one_line(run.root.task, _MOST_OF_TASK),
        "Started by": one_line(run.root.started_by, _MOST_OF_LINE) or "unknown",
        "Decide by": f"{deadline:%Y-%m-%d %H:%M} UTC" if deadline else "no deadline",
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items() if value)


def _inbox(run: Run) -> str:
    return f"{settings.HEARTBIT_PUBLIC_URL}/w/{run.workspace.slug}/inbox/"


@transaction.atomic
def resolve_call(call: ToolCall, outcome: CallResolution, *, by: Actor, result: str = "") -> None:
    """Store the outcome of an uncertain call, and let its run continue.

    Args:
        call: A call of unknown outcome, whose run waits for a person.
        outcome: ``retried``: run the call again under the same idempotency key; ``done``: it took
            effect; ``skipped``: leave it unknown.
        by: The person who resolves the call.
        result: For ``done``: the call's result for the model.

    Raises:
        CallClosedError: The call is resolved, or the run has ended.
    """
    require(by, "approvals:decide", workspace_id=call.run.workspace_id)
    text = clean_text(result).strip() if outcome is CallResolution.CONFIRMED else ""
    parameters = (
        *(call.run_id, call.call_id, outcome.value, text or None),
        *(by.user_id, by.name, by.via),
    )
    ring = call_function("SELECT heartbit_settle(%s, %s, %s, %s, %s, %s, %s)", parameters)
    record_of_call(by, "approval.settle", call, outcome=outcome.value)
    wake_run(ring)
    notify_on_commit(call.run.workspace_id, "runs", "calls")


def refuse_others(asked: WaitQuestion, user_id: int | None) -> None:
    """Raise unless a question asks this person.

    Raises:
        CallClosedError: Others are asked.
    """
    if asked.group and user_id not in _members(asked.group):
        raise CallClosedError(members_only(asked.group, "answer this", user_id))
    people = User.objects.filter(username=asked.person).values_list("pk", flat=True)
    if asked.person and user_id not in people:
        raise CallClosedError(f"Only {asked.person} may answer this: ask {asked.person} to do it.")


def read_review(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what a review consists of; a form sends the result with every decision.

    Raises:
        InvalidEditError: The message or the result of the decision is missing.
    """
    decision, message = answer["decision"], clean_text(answer.get("message", "")).strip()
    found = {"decision": decision} | ({"message": message} if message else {})
    if decision == "changes" and not message:
        raise InvalidEditError("The message is empty: say what the agent is to change.")
    if decision != "edit":
        return found
    result = answer.get("result")
    if isinstance(result, str):
        result = clean_text(result)
    if result is None or (isinstance(result, str) and not result.strip()):
        raise InvalidEditError("The result is empty: write what is to be delivered, or reject it.")
    return found | {"result": result}


def answer_wait(wait: Wait, answer: Any, *, by: Actor) -> None:
    """Resolve a wait with a JSON answer, and queue its run if that was its last open wait.

    An owner's word to go on counts for all runs that the same budget has made wait.

    Raises:
        InvalidEditError: The answer does not fit the schema; nothing was resolved.
        CallClosedError: The wait is resolved, its run has ended, or others are asked.
    """
    require(by, question_of(wait).scope, workspace_id=wait.run.workspace_id)
    _answer(wait, answer, by=by)
    if wait.kind != BUDGET.name or answer.get("decision") != "continue":
        return
    if budget_of(wait.key) == NO_BUDGET:  # a word about one run's model
        return
    same = wait.key.rpartition(":")[0]
    others = waits_for_answers(wait.run.workspace).filter(kind=BUDGET.name)
    for other in others.filter(key__startswith=f"{same}:"):
        with suppress(CallClosedError):  # another owner was faster
            _answer(other, answer, by=by)


@transaction.atomic
def _answer(wait: Wait, answer: Any, *, by: Actor) -> None:
    kind, asked = kind_of(wait.kind), question_of(wait)
    if kind.answer is None:
        raise CallClosedError(f"A wait of the kind {kind.name!r} is not answered like this.")
    refuse_others(asked, by.user_id)
    declines = answer is None and kind.is_declinable
    problems = [] if declines else validate(asked.form, answer)
    if problems:
        raise InvalidEditError(f"The answer does not fit: {'; '.join(problems)}.")
    if kind is REVIEW:
        answer = read_review(answer)
    query = "SELECT heartbit_answer(%s, %s, %s, %s, %s)"
    parameters = (wait.run_id, wait.key, json.dumps(answer), by.name, by.user_id)
    ring = call_function(query, parameters)
    if kind is BUDGET and answer["decision"] == "continue":
        allow_until_spent(budget_of(wait.key))
    audit.record(
        by,
        "wait.answer",
        workspace=wait.run.workspace,
        target=f"run:{wait.run_id}",
        label=kind.label,
        details={"wait": wait.key, "call": wait.call_id},
    )
    wake_run(ring)
    notify_on_commit(wait.run.workspace_id, "runs", "calls")
