"""Decisions in the admin: what people allowed and denied, to be read only."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesCheckboxFilter

from agents.admin import formatting
from agents.admin.links import run_link
from agents.choices import CallResolution, Verdict
from agents.models import Decision, ToolCall
from heartbit_site.admin.columns import Column, Tone, clock, link, pill, two_lines
from heartbit_site.admin.themed import ReadOnlyAdmin
from heartbit_site.base.visible_text import visible

TONES: dict[str, Tone] = {
    Verdict.APPROVED: "success",
    Verdict.EDITED: "info",
    Verdict.ANSWERED: "success",
    Verdict.DENIED: "warning",
    CallResolution.RETRIED: "info",
    CallResolution.CONFIRMED: "success",
    CallResolution.SKIPPED: "warning",
}


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin[Decision]):
    """Decisions on calls, each about exactly one set of arguments."""

    workspace_path = "run__workspace"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read"}

    list_display = ("what", "said", "decided_by", "via", "right", "when")
    list_filter = (("verdict", ChoicesCheckboxFilter), "via")
    list_filter_submit = True
    list_select_related = ("run__workspace", "grant")
    search_fields = ("decided_by", "run__agent", "^run__id")
    search_help_text = "A person, an agent, or the beginning of a run's id."
    ordering = ("-id",)
    fields = (
        *("place", "called", "said", "decided_by", "via", "why", "edited", "right"),
        *("at", "digest", "executed_digest"),
    )

    what = Column[Decision](
        "call",
        lambda row: two_lines(
            row.run.agent, f"call {row.call_id} of run …{formatting.short_id(row.run_id)}"
        ),
    )
    said = Column[Decision](
        "verdict",
        lambda row: pill(row.get_verdict_display(), tone=TONES[row.verdict]),
        ordering="verdict",
    )

    @admin.display(description="grant")
    def right(self, decision: Decision) -> SafeString | str:
        """Return the grant that decided the call, or that was given with the decision."""
        if decision.grant is None:
            return "-"
        url = reverse("admin:agents_grant_change", args=[decision.grant.pk])
        word = "by" if decision.via == "grant" else "gave"
        return format_html("{} {}", word, link(url, decision.grant.pk))

    when = Column[Decision]("when", lambda row: clock(row.at), ordering="at")

    place = Column[Decision](
        "run", lambda row: run_link(row.run.workspace, row.run_id, str(row.run))
    )

    @admin.display(description="call")
    def called(self, decision: Decision) -> str:
        """Return the tool and the id of the call."""
        call = ToolCall.objects.filter(run=decision.run_id, call_id=decision.call_id).first()
        return f"{visible(call.tool)} ({call.call_id})" if call else decision.call_id

    why = Column[Decision]("reason", lambda row: visible(row.reason) or "-")

    @admin.display(description="edited arguments")
    def edited(self, decision: Decision) -> SafeString | str:
        """Return the arguments that replaced those of the model."""
        if decision.arguments is None:
            return "-"
        return format_html('<pre class="hb-text hb-code">{}</pre>', visible(decision.arguments))
