"""Steer a running run with the reply to a message that it wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from agents.errors import CallClosedError
from agents.messaging.texts import as_steering_text
from agents.models import InboxEntry, Message
from agents.runs.sql_functions import call_function

if TYPE_CHECKING:
    from uuid import UUID


def steer_with_reply(reply_id: UUID) -> bool:
    """Move a reply from the inbox to the run; return True if that was done.

    Atomic and at most once: if the run has ended, the reply stays unread for the agent's next run.
    """
    try:
        with transaction.atomic():
            return _push(reply_id)
    except CallClosedError:
        return False


def _push(reply_id: UUID) -> bool:
    # Lock the entry first and then the run, in the order of a run that reads its inbox.
    entries = InboxEntry.objects.select_for_update(of=("self",)).select_related("message")
    entry = entries.filter(message=reply_id, read_at__isnull=True).first()
    if entry is None:
        return False  # another run has read it already
    reply = entry.message
    if reply.in_reply_to is None:
        return False
    answered = Message.objects.filter(pk=reply.in_reply_to).first()
    if answered is None or answered.source_run_id is None:
        return False
    # A person's reply gives the run new turns; an agent's does not, so that exchanges end.
    source = "person" if reply.source_run_id is None else "agent"
    call_function(
        "SELECT heartbit_steer(%s, %s, %s, p_source => %s)",
        [answered.source_run_id, as_steering_text(reply), reply.sender, source],
    )
    InboxEntry.objects.filter(pk=entry.pk).update(
        read_at=timezone.now(), run_id=answered.source_run_id
    )
    return True
