"""Write to the people who may decide when calls of a run begin to wait, or wait for too long."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage, get_connection

from agents.approvals.links import token_of
from agents.approvals.questions import answer_schema
from agents.journal.waits import kind_of
from agents.models import Run, Wait
from agents.querysets import calls_waiting, shown_tool, waits_for_answers
from heartbit_site.base.access import members_with
from heartbit_site.base.visible_text import visible

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import User

    from agents.models import ToolCall

logger = logging.getLogger(__name__)

_TEXT = """{agent} asks before it uses {tool}.{more}

{reason}

Look at the whole call and decide:
{link}

The link is yours alone and serves once. All that waits: {inbox}
"""
_QUESTION = """{agent} asks you a question, with {tool}.{more}

Read it, and answer or decline:
{link}

The link is yours alone and serves for one answer. All that waits: {inbox}
"""
_WAIT = """{agent} waits for {what}.

Look at it and answer: {inbox}
"""
_ESCALATED = " Nobody has decided in time, so that you may as well."


def notify_approvers(run_id: UUID) -> int:
    """Mail a link for each call of the run that waits to each member who may decide it.

    A mail server that is away is logged, never raised: what waits is on the approvals page too.

    Returns:
        How many mails were sent.
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
    """Mail a link for a call that nobody has decided to each member who may by now.

    Returns:
        How many mails were sent; none when it is decided meanwhile.
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
        logger.warning("%d people were not written to (%s)", len(mails), error)
        return 0


def _deciders(run: Run, group: str) -> list[User]:
    people = get_user_model().objects.exclude(email="").order_by("pk")
    found = people.filter(pk__in=members_with(run.workspace, "approvals:decide"))
    return list(found.filter(groups__name=group) if group else found)


def _mail(call: ToolCall, person: User, *, more: str = "") -> EmailMessage:
    root = settings.HEARTBIT_PUBLIC_URL
    agent, tool = call.run.agent, _line(shown_tool(call))
    is_question = answer_schema(call) is not None
    text = (_QUESTION if is_question else _TEXT).format(
        agent=agent,
        tool=tool,
        more=more,
        reason=visible(str((call.approval_view or {}).get("reason", ""))),
        link=f"{root}/approve/{token_of(call, person.pk)}/",
        inbox=_inbox(call.run),
    )
    subject = f"{agent} asks you a question" if is_question else f"{agent} waits for you: {tool}"
    return EmailMessage(subject, text, to=[person.email])


def _wait_mail(wait: Wait, person: User) -> EmailMessage:
    agent, what = wait.run.agent, kind_of(wait.kind).waits_for
    text = _WAIT.format(agent=agent, what=what, inbox=_inbox(wait.run))
    return EmailMessage(f"{agent} waits for you: {what}", text, to=[person.email])


def _inbox(run: Run) -> str:
    return f"{settings.HEARTBIT_PUBLIC_URL}/w/{run.workspace.slug}/approvals/"


def _line(text: str) -> str:
    return " ".join(visible(text).split())[:80]
