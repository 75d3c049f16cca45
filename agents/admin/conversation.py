"""Conversations in the admin: people, agents, and the runs that answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin
from django.utils.html import format_html

from agents.admin import formatting, queries
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

    @admin.display(description="message")
    def message(self, run: Run) -> SafeString:
        """Return the message as a link to the run that answers it."""
        url = run_url(run.workspace, run.pk)
        return format_html(
            '<a class="hb-link" href="{}"><span class="hb-text" dir="auto">{}</span></a>',
            url,
            formatting.truncate(run.task, _PREVIEW),
        )

    @admin.display(description="answer")
    def answer(self, run: Run) -> SafeString:
        """Return the answer."""
        text = formatting.truncate(run.output or "-", _PREVIEW)
        return format_html('<span class="hb-text" dir="auto">{}</span>', text)

    state = Column[Run]("status", lambda run: formatting.run_pill(run.status))
    accepted = Column[Run]("sent", lambda run: clock(run.created_at))


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
        return queries.with_messages(super().get_queryset(request))

    @admin.display(description="conversation")
    def what(self, conversation: Conversation) -> SafeString:
        """Return the agent and the title."""
        return two_lines(conversation.agent, conversation)

    @admin.display(description="messages")
    def messages(self, conversation: Conversation) -> int:
        """Return the number of messages."""
        return int(getattr(conversation, "said", 0))

    @admin.display(description="started", ordering="created_at")
    def begun(self, conversation: Conversation) -> str:
        """Return the time at which the conversation was started."""
        return clock(conversation.created_at)
