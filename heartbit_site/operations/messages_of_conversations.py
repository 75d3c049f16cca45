"""Find the conversations of a workspace, and say how they are called and when they were used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left

from agents.models import Conversation, Run
from agents.querysets import find_run
from heartbit_site.base.errors import NotFoundError, Remedy

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

_HEADING = 80  # characters
_READ = 400  # characters of the first message that are looked at for one
_ATTACHED = re.compile(r'\s*<attachment id="[0-9a-f]+" name="([^"\n]*)"')


class ConversationNotFoundError(NotFoundError):
    """There is no conversation with that id in the workspace."""


class MessageNotFoundError(NotFoundError):
    """The run is no message of the conversation."""


def find_conversation(
    workspace: Workspace, conversation_id: str, *, lock: bool = False
) -> Conversation:
    """Return the workspace's conversation with that id.

    Args:
        workspace: Where.
        conversation_id: Its whole id.
        lock: Keep it from being deleted until the caller's transaction ends.

    Raises:
        ConversationNotFoundError: There is none.
    """
    found = None
    try:
        wanted = UUID(conversation_id)
    except ValueError:
        pass
    else:
        rows = Conversation.objects.filter(workspace=workspace, pk=wanted)
        found = (rows.select_for_update(no_key=True) if lock else rows).first()
    if found is None:
        raise ConversationNotFoundError(
            f"In {workspace.slug} there is no conversation {conversation_id[:60]}.",
            remedy=Remedy("conversations.create_conversation", "begins one"),
        )
    found.workspace = workspace
    return found


def find_message(conversation: Conversation, run_id: str) -> UUID:
    """Return the id of a message: of the run that answers it.

    Raises:
        RunNotFoundError: The workspace has no such run.
        MessageNotFoundError: It is no message of the conversation.
    """
    run = find_run(conversation.workspace, run_id)
    if run.conversation_id != conversation.pk:
        raise MessageNotFoundError(f"Run {run.pk} is no message of this conversation.")
    return run.pk


def with_activity(conversations: QuerySet[Conversation]) -> QuerySet[Any]:
    """Conversations with when they were last used: ``active``, ``active_at``, ``last_status``.

    ``active`` is the id of the last run, or their own: both rise with time. ``first_task`` is the
    beginning of what was said first.
    """
    runs = Run.objects.filter(conversation=OuterRef("pk"), parent__isnull=True)
    newest, oldest = runs.order_by("-created_at"), runs.order_by("created_at")
    return conversations.annotate(
        active=Coalesce(Subquery(newest.values("pk")[:1]), "pk"),
        active_at=Coalesce(Subquery(newest.values("created_at")[:1]), "created_at"),
        last_status=Subquery(newest.values("status")[:1]),
        first_task=Subquery(oldest.values(beginning=Left("task", _READ))[:1]),
    )


def heading_of(title: str, first_task: str | None) -> str:
    """Return a conversation's title, or the beginning of its first message."""
    if title:
        return title
    text = first_task or ""
    attached = _ATTACHED.search(text)
    said = text[: attached.start()] if attached else text
    words = " ".join(said.split()) or (attached[1] if attached else "")
    return words if len(words) <= _HEADING else words[: _HEADING - 1].rstrip() + "…"
