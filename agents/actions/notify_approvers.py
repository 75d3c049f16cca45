"""E-mails to the people who may decide calls that begin to wait, or have waited too long."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.mail import EmailMessage, get_connection

from agents.approvals.links import token_of
from agents.approvals.questions import answer_schema
from agents.delivery.report import one_line
from agents.journal.waits import kind_of
from agents.models import Run, ToolCall, Wait
from agents.querysets import calls_waiting, shown_tool, waits_for_answers
from heartbit_site.base.access import members_with
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
_WAIT = """{agent} waits for {what}.

{facts}

Look at it and answer: {inbox}
"""
_MOST_OF_TASK = 300
_MOST_OF_LINE = 80
_ESCALATED = " No one has decided in time, so you may decide as well."


def notify_approvers(run_id: UUID) -> int:
    """Mail a link for each waiting call of the run to each member who may decide it.

    An unavailable mail server is logged, never raised: the approvals page shows the calls too.

    Returns:
        The number of mails sent.
    """
    run = Run.objects.select_related("workspace").filter(pk=run_id).first()
    if run is None:
        return 0
    calls = calls_waiting(run.workspace).filter(run=run)
    mails = [
        _mail(call, person)
        for call in calls
        for person in _deciders(run, (call.approval_view or {}).get("group", ""))
    ]
    waits = waits_for_answers(run.workspace).filter(run=run)
    return _send(mails + [_wait_mail(wait, one) for wait in waits for one in _deciders(run, "")])


def notify_escalation(wait_id: int) -> int:
    """Mail a link for an escalated call to each member who may now decide it.

    Returns:
        The number of mails sent; 0 if the call was decided meanwhile.
    """
    wait = Wait.objects.select_related("run__workspace").filter(pk=wait_id).first()
    if wait is None or wait.resolved_at is not None:
        return 0
    calls = calls_waiting(wait.run.workspace).filter(run=wait.run, call_id=wait.call_id)
    return _send(
        [
            _mail(call, person, more=_ESCALATED)
            for call in calls
            for person in _deciders(call.run, (call.approval_view or {}).get("escalated_to", ""))
        ]
    )


def _send(mails: list[EmailMessage]) -> int:
    if not mails:
        return 0
    try:
        return get_connection().send_messages(mails) or 0
    except (SMTPException, OSError) as error:
        logger.warning("%d mails to approvers were not sent (%s)", len(mails), error)
        return 0


def _deciders(run: Run, group: str) -> list[User]:
    people = get_user_model().objects.exclude(email="").order_by("pk")
    found = people.filter(pk__in=members_with(run.workspace, "approvals:decide"))
    return list(found.filter(groups__name=group) if group else found)


def _mail(call: ToolCall, person: User, *, more: str = "") -> EmailMessage:
    root = settings.HEARTBIT_PUBLIC_URL
    agent, tool = call.run.agent, one_line(shown_tool(call), _MOST_OF_LINE)
    is_question = answer_schema(call) is not None
    reason = visible(str((call.approval_view or {}).get("reason", "")))
    wait = Wait.objects.filter(run=call.run, call_id=call.call_id, resolved_at=None).first()
    text = (_QUESTION if is_question else _TEXT).format(
        agent=agent,
        more=more,
        reason=reason or f"{agent} asks before it uses {tool}.",
        facts=_facts(call.run, wait, "" if is_question else tool),
        link=f"{root}/approve/{token_of(call, person.pk)}/",
        inbox=_inbox(call.run),
    )
    subject = f"{agent} asks you a question" if is_question else f"{agent} waits for you: {tool}"
    return EmailMessage(subject, text, to=[person.email])


def _wait_mail(wait: Wait, person: User) -> EmailMessage:
    agent, what = wait.run.agent, kind_of(wait.kind).waits_for
    facts = _facts(wait.run, wait)
    text = _WAIT.format(agent=agent, what=what, facts=facts, inbox=_inbox(wait.run))
    return EmailMessage(f"{agent} waits for you: {what}", text, to=[person.email])


def _facts(run: Run, wait: Wait | None, tool: str = "") -> str:
    """Return the tool, the task that a person gave, its author, and the deadline, a line each."""
    deadline = wait.expires_at if wait is not None else None
    facts = {
        "Tool": tool,
        "Task": one_line(run.root.task, _MOST_OF_TASK),
        "Started by": one_line(run.root.started_by, _MOST_OF_LINE) or "unknown",
        "Decide by": f"{deadline:%Y-%m-%d %H:%M} UTC" if deadline else "no deadline",
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items() if value)


def _inbox(run: Run) -> str:
    return f"{settings.HEARTBIT_PUBLIC_URL}/w/{run.workspace.slug}/approvals/"
