"""Conversations in the admin: people, agents, and the runs that answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin
from django.db.models import Count
from django.utils.html import format_html

from agents.admin import formatting
from agents.admin.links import run_url
from agents.models import Conversation, Run
from heartbit_site.base.admin.columns import Column, clock, two_lines
from heartbit_site.base.admin.themed import ReadOnlyAdmin, ReadOnlyInline

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString

_PREVIEW = 200  # characters


class MessageInline(ReadOnlyInline[Run, Conversation]):
    """Messages and their answers, the oldest first."""

    model = Run
    fields = ("message", "answer", "state", "accepted")
    ordering = ("created_at", "id")
    verbose_name_plural = "messages"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Without what the list does not show."""
        return (
            super()
            .get_queryset(request)
            .select_related("workspace")
            .defer("error", "payload", "structured")
        )

    def message(self, run: Run) -> SafeString:
        """Return the message as a link to the run that answers it."""
        url = run_url(run.workspace, run.pk)
        return format_html(
            '<a class="hb-link" href="{}"><span class="hb-text" dir="auto">{}</span></a>',
            url,
            formatting.truncate(run.task, _PREVIEW),
        )

    def answer(self, run: Run) -> SafeString:
        """Return the answer."""
        text = formatting.truncate(run.output or "-", _PREVIEW)
        return format_html('<span class="hb-text" dir="auto">{}</span>', text)

    state = Column[Run]("status", lambda row: formatting.run_pill(row.status))
    accepted = Column[Run]("sent", lambda row: clock(row.created_at))


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin[Conversation]):
    """Threads with agents."""

    workspace_path = "workspace"
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

    @admin.display(description="started", ordering="created_at")
    def begun(self, conversation: Conversation) -> str:
        """Return the time at which the conversation was started."""
        return clock(conversation.created_at)
