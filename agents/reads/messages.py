"""Queries of messages between agents."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from agents.errors import UnknownMessageError
from agents.messaging.addresses import AGENT, normalize_address
from agents.models import InboxEntry, Message
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace


def messages_at(
    workspace: Workspace, *, to: str | None = None, sender: str | None = None
) -> QuerySet[Message]:
    """Return the messages of a workspace's own agents, without those of a file or a program.

    Args:
        workspace: Workspace of the messages.
        to: Address, or name of the agent, that received the messages; broadcasts count.
        sender: Address, or name of the agent, that sent the messages.
    """
    rows = Message.objects.filter(workspace=workspace, origin="")
    if sender is not None:
        rows = rows.filter(sender=normalize_address(sender))
    if to is not None:
        name = normalize_address(to).removeprefix(AGENT)
        entries = InboxEntry.objects.filter(message=OuterRef("pk"), agent__name=name)
        rows = rows.filter(Q(recipient=normalize_address(to)) | Exists(entries))
    return rows


def load_message(workspace: Workspace, message_id: str) -> Message:
    """Return one of the messages of ``messages_at``, with the counts of ``with_inboxes``.

    Raises:
        UnknownMessageError: The workspace's own agents have no message with that id.
    """
    try:
        rows = messages_at(workspace).filter(pk=UUID(message_id.strip()))
    except ValueError:
        rows = Message.objects.none()
    found = with_inboxes(rows).first()
    if found is None:
        raise UnknownMessageError(
            f"In {workspace.slug} there is no message {message_id[:40]!r}.",
            remedy=Remedy("messages.list_messages", "lists the ids"),
        )
    return found


def with_inboxes(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Annotate messages with their number of inboxes, and of those where they are unread."""
    entries = InboxEntry.objects.filter(message=OuterRef("pk")).order_by().values("message")
    counted = {
        "inboxes": entries.annotate(count=Count("pk")),
        "unread": entries.filter(read_at__isnull=True).annotate(count=Count("pk")),
    }
    numbers = {name: Coalesce(Subquery(rows.values("count")), 0) for name, rows in counted.items()}
    found: QuerySet[Message] = messages.annotate(**numbers)
    return found
