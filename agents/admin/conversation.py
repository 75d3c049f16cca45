"""Conversations in the admin, and the messages between agents."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from agents.admin import formatting
from agents.models import Conversation, InboxEntry, Message, MessageKind, Run
from heartbit_site.admin.columns import Column, Tone, link, pill, text_block, two_lines
from heartbit_site.admin.themed import ReadOnlyAdmin, ReadOnlyInline
from heartbit_site.shell.moment import moment

_PREVIEW = 200  # characters of a conversation's message
_SHORT_PREVIEW = 160  # characters of a message between agents


def _preview(text: str) -> SafeString:
    return text_block(Truncator(text).chars(_PREVIEW))


class MessageInline(ReadOnlyInline[Run, Conversation]):
    """Messages and their answers, the oldest first."""

    model = Run
    fields = ("message", "answer", "state", "accepted")
    ordering = ("created_at", "id")
    verbose_name_plural = "messages"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Without what the list does not show."""
        rows = super().get_queryset(request).select_related("workspace")
        return rows.defer("error", "payload", "structured")

    message = Column[Run](
        "message", lambda row: link(formatting.run_url(row.workspace, row.pk), _preview(row.task))
    )
    answer = Column[Run]("answer", lambda row: _preview(row.output or "-"))
    state = Column[Run]("status", lambda row: formatting.run_pill(row.status))
    accepted = Column[Run]("sent", lambda row: moment(row.created_at))


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin[Conversation]):
    """Threads with agents."""

    workspace_path = "workspace"
    private_path = "private_to"
    work_page = "web:chat"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read"}

    list_display = ("what", "messages", "busy_policy", "begun")
    list_filter = ("workspace", "agent")
    search_fields = ("title", "agent", "^id")
    ordering = ("-id",)
    inlines = (MessageInline,)
    fields = ("agent", "title", "busy_policy", "workspace", "created_at", "id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        """Return the conversations with their number of messages."""
        rows: QuerySet[Conversation] = super().get_queryset(request)
        return rows.annotate(said=Count("runs"))

    what = Column[Conversation]("conversation", lambda row: two_lines(row.agent, row))
    messages = Column[Conversation]("messages", lambda row: int(getattr(row, "said", 0)))
    begun = Column[Conversation](
        "started", lambda row: moment(row.created_at), ordering="created_at"
    )


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

    state = Column[InboxEntry](
        "read", lambda row: moment(row.read_at) if row.read_at else "not yet"
    )
    reader = Column[InboxEntry](
        "by the run", lambda row: formatting.kept_run_link(row.message.workspace, row.run_id)
    )


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin[Message]):
    """Messages between agents, people and programs."""

    workspace_path = "workspace"
    work_page = "web:chat"
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
        text = Truncator(message.body).chars(_SHORT_PREVIEW)
        return format_html('<span class="hb-clip" dir="auto">{}</span>', text)

    wants = Column[Message]("kind", lambda row: pill(row.get_kind_display(), tone=TONES[row.kind]))
    number = Column[Message]("number", lambda row: row.seq)
    sent = Column[Message]("sent", lambda row: moment(row.created_at))
    said = Column[Message]("text", lambda row: text_block(row.body))
    writer = Column[Message](
        "written by the run", lambda row: formatting.kept_run_link(row.workspace, row.source_run_id)
    )
    started = Column[Message](
        "started the run", lambda row: formatting.kept_run_link(row.workspace, row.run_id)
    )
