"""Decisions in the admin, to be read, and standing permissions ("always allow"), to be revoked."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin, messages
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesCheckboxFilter

from agents.actions.decide_call import revoke_grants
from agents.admin import formatting
from agents.choices import TERMINAL, CallResolution, Verdict
from agents.models import Decision, Grant, ToolCall
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, Tone, link, pill, two_lines
from heartbit_site.admin.themed import ReadOnlyAdmin
from heartbit_site.base import amounts
from heartbit_site.base.visible_text import visible
from heartbit_site.shell.moment import moment

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
    private_path = "run__private_to"
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

    when = Column[Decision]("when", lambda row: moment(row.at), ordering="at")

    place = Column[Decision](
        "run", lambda row: formatting.run_link(row.run.workspace, row.run_id, str(row.run))
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
        return format_html('<pre class="code">{}</pre>', visible(decision.arguments))


@admin.register(Grant)
class GrantAdmin(ReadOnlyAdmin[Grant]):
    """Standing permissions: a tool's calls that need no approval."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read", "revoke": "approvals:decide"}

    list_display = ("what", "state", "scope", "granted_by", "until", "since")
    list_filter = (("agent", RelatedOnlyFieldListFilter), "tool")
    list_select_related = ("agent", "root", "workspace")
    search_fields = ("tool", "agent__name", "granted_by")
    ordering = (F("revoked_at").desc(nulls_first=True), "-id")
    actions = ("revoke_chosen",)
    actions_detail = ("revoke",)
    fields = (
        *("agent", "tool", "state", "scope", "granted_by", "created_at", "until", "revoked_at"),
        *("workspace", "definition_hash"),
    )

    what = Column[Grant]("grant", lambda row: two_lines(visible(row.tool), f"for {row.agent.name}"))

    def state(self, grant: Grant) -> SafeString:
        """Return the state: valid, expired or revoked."""
        if grant.revoked_at is not None:
            return pill("Revoked", tone="warning")
        return pill("Ended") if _is_over(grant) else pill("Valid", tone="success")

    def scope(self, grant: Grant) -> SafeString | str:
        """Return the scope: one run's tree, or every run of the agent."""
        if grant.root is None:
            return "every run"
        return format_html("run {}", formatting.short_run_link(grant.workspace, grant.root.pk))

    @admin.display(description="until", ordering="expires_at")
    def until(self, grant: Grant) -> str:
        """Return the time at which the grant expires."""
        if grant.expires_at is not None:
            return moment(grant.expires_at)
        return "revoked" if grant.root is None else "the run ends"

    since = Column[Grant]("granted", lambda row: moment(row.created_at), ordering="created_at")

    @admin.action(description="Revoke", permissions=["revoke"])
    def revoke_chosen(self, request: HttpRequest, grants: QuerySet[Grant]) -> None:
        """End the chosen ones."""
        ended = revoke_grants(grants, by=actor_of(request))
        messages.success(request, f"{amounts.counted(ended, 'grant')} revoked.")

    @dialog(
        "Revoke",
        "From now on its calls wait for a person again. What has run stays as it is.",
        icon="block",
        permission="revoke",
        variant="DANGER",
        offered=lambda grant: grant.revoked_at is None and not _is_over(grant),
    )
    def revoke(self, request: HttpRequest, grant: Grant, form: DialogForm) -> None:
        """End it, and show it again."""
        if revoke_grants([grant], by=actor_of(request)):
            messages.success(request, "The grant was revoked.")


def _is_over(grant: Grant) -> bool:
    """Return True if the grant's time, or its run, has ended."""
    if grant.expires_at is not None and grant.expires_at <= timezone.now():
        return True
    return grant.root is not None and grant.root.status in TERMINAL
