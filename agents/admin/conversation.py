"""Conversations in the admin: people, agents, and the runs that answered."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from agents.admin import formatting
from agents.admin.links import run_url
from agents.models import Conversation, Run
from heartbit_site.admin.columns import Column, clock, link, text_block, two_lines
from heartbit_site.admin.themed import ReadOnlyAdmin, ReadOnlyInline

_PREVIEW = 200  # characters


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
        "message", lambda row: link(run_url(row.workspace, row.pk), _preview(row.task))
    )
    answer = Column[Run]("answer", lambda row: _preview(row.output or "-"))
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
    begun = Column[Conversation](
        "started", lambda row: clock(row.created_at), ordering="created_at"
    )
