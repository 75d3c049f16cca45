"""Messages between agents in the admin: senders, recipients, and who has read them."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from agents.admin.links import kept_run_link
from agents.models import InboxEntry, Message, MessageKind
from heartbit_site.admin.columns import Column, Tone, clock, pill, text_block
from heartbit_site.admin.themed import ReadOnlyAdmin, ReadOnlyInline

_PREVIEW = 160  # characters
TONES: dict[str, Tone] = {
    MessageKind.NOTIFICATION: "",
    MessageKind.REPLY: "info",
    MessageKind.REQUEST: "primary",
    MessageKind.TASK: "primary",
}


class InboxInline(ReadOnlyInline[InboxEntry, Message]):
    """Inboxes that hold the message."""

    model = InboxEntry
    fields = ("agent", "state", "reader")
    verbose_name_plural = "inboxes"

    def get_queryset(self, request: HttpRequest) -> QuerySet[InboxEntry]:
        """Return the entries with the agents' names."""
        return super().get_queryset(request).select_related("agent", "message__workspace")

    state = Column[InboxEntry]("read", lambda row: clock(row.read_at) if row.read_at else "not yet")
    reader = Column[InboxEntry](
        "by the run", lambda row: kept_run_link(row.message.workspace, row.run_id)
    )


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin[Message]):
    """Messages between agents, people and programs."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read"}
    list_display = ("what", "sender", "recipient", "wants", "thread", "number", "sent")
    list_filter = ("kind", "workspace")
    search_fields = ("sender", "recipient", "thread", "^id")
    search_help_text = "An address such as agent:writer, a thread, or how the id begins."
    ordering = ("-id",)
    sortable_by = ()
    inlines = (InboxInline,)
    fields = (
        *("sender", "recipient", "wants", "said", "thread", "number", "in_reply_to"),
        *("writer", "started", "hops", "expires_at", "created_at", "workspace", "id"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        """Without those of a file's or a program's agents, which never show here."""
        return super().get_queryset(request).filter(origin="")

    @admin.display(description="message")
    def what(self, message: Message) -> SafeString:
        """Return the beginning of the message."""
        text = Truncator(message.body).chars(_PREVIEW)
        return format_html('<span class="hb-clip" dir="auto">{}</span>', text)

    wants = Column[Message]("kind", lambda row: pill(row.get_kind_display(), tone=TONES[row.kind]))
    number = Column[Message]("number", lambda row: row.seq)
    sent = Column[Message]("sent", lambda row: clock(row.created_at))
    said = Column[Message]("text", lambda row: text_block(row.body))
    writer = Column[Message](
        "written by the run", lambda row: kept_run_link(row.workspace, row.source_run_id)
    )
    started = Column[Message](
        "started the run", lambda row: kept_run_link(row.workspace, row.run_id)
    )
