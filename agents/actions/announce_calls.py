"""Write to the people who may decide when calls of a run begin to wait."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage, get_connection

from agents.approval_links import token_of
from agents.models import Run
from agents.querysets import calls_waiting, shown_tool
from heartbit_site.base.access import members_with
from heartbit_site.base.visible_text import visible

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import User

    from agents.models import ToolCall

logger = logging.getLogger(__name__)

_TEXT = """{agent} asks before it uses {tool}.

{reason}

Look at the whole call and decide:
{link}

The link is yours alone and serves once. All that waits: {inbox}
"""


def announce_calls(run_id: UUID) -> int:
    """Mail a link for each call of the run that waits to each member who may decide it.

    A mail server that is away is logged, never raised: what waits is on the approvals page too.

    Returns:
        How many mails were sent.
    """
    run = Run.objects.select_related("workspace").filter(pk=run_id).first()
    if run is None:
        return 0
    calls = list(calls_waiting(run.workspace).filter(run=run))
    mails = [_mail(call, person) for call in calls for person in _deciders(call)]
    if not mails:
        return 0
    try:
        return get_connection().send_messages(mails) or 0
    except (SMTPException, OSError) as error:
        logger.warning("nobody was written to about run %s (%s)", run_id, error)
        return 0


def _deciders(call: ToolCall) -> list[User]:
    people = get_user_model().objects.exclude(email="").order_by("pk")
    found = people.filter(pk__in=members_with(call.run.workspace, "approvals:decide"))
    group = (call.shown or {}).get("group")
    return list(found.filter(groups__name=group) if group else found)


def _mail(call: ToolCall, person: User) -> EmailMessage:
    root = settings.HEARTBIT_PUBLIC_URL
    agent, tool = call.run.agent, _line(shown_tool(call))
    text = _TEXT.format(
        agent=agent,
        tool=tool,
        reason=visible(str((call.shown or {}).get("reason", ""))),
        link=f"{root}/approve/{token_of(call, person.pk)}/",
        inbox=f"{root}/w/{call.run.workspace.slug}/approvals/",
    )
    return EmailMessage(f"{agent} waits for you: {tool}", text, to=[person.email])


def _line(text: str) -> str:
    return " ".join(visible(text).split())[:80]
