"""Standing permissions ("always allow") in the admin: to be read, and revoked."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin, messages
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.actions.decide_call import revoke_grants
from agents.admin import formatting
from agents.admin.links import run_link
from agents.choices import TERMINAL
from agents.models import Grant
from heartbit_site.admin.actions import DialogForm, dialog
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.columns import Column, clock, format_datetime, pill, two_lines
from heartbit_site.admin.themed import ReadOnlyAdmin
from heartbit_site.base import amounts
from heartbit_site.base.visible_text import visible


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
        text = f"…{formatting.short_id(grant.root.pk)}"
        return format_html("run {}", run_link(grant.workspace, grant.root.pk, text))

    @admin.display(description="until", ordering="expires_at")
    def until(self, grant: Grant) -> str:
        """Return the time at which the grant expires."""
        if grant.expires_at is not None:
            return format_datetime(grant.expires_at)
        return "revoked" if grant.root is None else "the run ends"

    since = Column[Grant]("granted", lambda row: clock(row.created_at), ordering="created_at")

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
