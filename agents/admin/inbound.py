"""Inbound messages of channels, read only."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin

from agents.admin.links import kept_run_link
from agents.choices import InboundStatus
from agents.models import InboundMessage
from heartbit_site.base.admin.columns import Column, Tone, clock, pill, two_lines
from heartbit_site.base.admin.themed import ReadOnlyAdmin

TONES: dict[str, Tone] = {InboundStatus.ACCEPTED: "success", InboundStatus.REFUSED: "warning"}


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

    state = Column[InboundMessage](
        "state", lambda row: pill(row.get_status_display(), tone=TONES[row.status])
    )
    received = Column[InboundMessage]("received", lambda row: clock(row.received_at))
    run = Column[InboundMessage](
        "run", lambda row: kept_run_link(row.channel.workspace, row.run_id)
    )
