"""Inbound messages of channels, read only."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin

from agents.admin.links import kept_run_link
from agents.choices import InboundStatus
from agents.models import InboundMessage
from heartbit_site.base.admin.columns import Column, clock, pill, two_lines
from heartbit_site.base.admin.themed import ReadOnlyAdmin

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


@admin.register(InboundMessage)
class InboundMessageAdmin(ReadOnlyAdmin[InboundMessage]):
    """Messages of the last 90 days: what answers them, or why nothing does."""

    workspace_path = "channel__workspace"
    audit_name = "channel"
    needs: ClassVar[dict[str, str]] = {"view": "workspace:manage"}
    list_display = ("what", "channel", "state", "reason", "received")
    list_select_related = ("channel",)
    list_filter = ("status", "channel")
    search_fields = ("=external_id", "sender", "title", "=run_id")
    search_help_text = "A Message-ID, sender, title, or the id of a run."
    sortable_by = ()
    show_full_result_count = False
    fields = ("channel", "title", "sender", "external_id", "state", "reason", "run", "received_at")

    what = Column[InboundMessage]("message", lambda row: two_lines(row.title or "-", row.sender))

    def state(self, message: InboundMessage) -> SafeString:
        """Return the state: accepted or rejected."""
        taken = message.status == InboundStatus.ACCEPTED
        return pill(message.get_status_display(), tone="success" if taken else "warning")

    received = Column[InboundMessage]("received", lambda row: clock(row.received_at))

    def run(self, message: InboundMessage) -> SafeString | str:
        """Return a link to the run that answers, as long as the run exists."""
        return kept_run_link(message.channel.workspace, message.run_id)
