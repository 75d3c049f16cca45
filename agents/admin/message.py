"""Messages between agents in the admin: senders, recipients, and who has read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin
from django.utils.html import format_html

from agents.admin import formatting
from agents.admin.links import kept_run_link
from agents.models import InboxEntry, Message, MessageKind
from heartbit_site.base.admin.columns import Column, Tone, clock, pill
from heartbit_site.base.admin.themed import ReadOnlyAdmin, ReadOnlyInline

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString

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

    @admin.display(description="read")
    def state(self, entry: InboxEntry) -> str:
        """Return the time at which the message was read."""
        return clock(entry.read_at) if entry.read_at is not None else "not yet"

    @admin.display(description="by the run")
    def reader(self, entry: InboxEntry) -> SafeString | str:
        """Return the run of the agent that was given the message."""
        return kept_run_link(entry.message.workspace, entry.run_id)


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
        text = formatting.truncate(message.body, _PREVIEW)
        return format_html('<span class="hb-clip" dir="auto">{}</span>', text)

    @admin.display(description="kind")
    def wants(self, message: Message) -> SafeString:
        """Return the kind of message."""
        return pill(str(MessageKind(message.kind).label), tone=TONES[message.kind])

    number = Column[Message]("number", lambda row: row.seq)
    sent = Column[Message]("sent", lambda row: clock(row.created_at))

    @admin.display(description="text")
    def said(self, message: Message) -> SafeString:
        """Return the whole text."""
        return format_html('<span class="hb-text" dir="auto">{}</span>', message.body)

    @admin.display(description="written by the run")
    def writer(self, message: Message) -> SafeString | str:
        """Return the run that wrote the message."""
        return kept_run_link(message.workspace, message.source_run_id)

    @admin.display(description="started the run")
    def started(self, message: Message) -> SafeString | str:
        """Return the run whose result is the answer."""
        return kept_run_link(message.workspace, message.run_id)
