"""The audit in the admin: entries to read, chains to verify."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import NoReverseMatch, reverse
from django.utils.safestring import SafeString

from heartbit_site.admin.actions import page_action
from heartbit_site.admin.columns import Column, ConditionFilter, link
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.themed import LongList, json_block
from heartbit_site.base import amounts
from heartbit_site.base.audit import chain_heads, verify
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.shell.moment import moment

VIAS = ("admin", "web", "api", "terminal", "email", "chat", "system")


class KindFilter(SimpleListFilter):
    """Filter by the kind of target: the first word of the action."""

    title = "about"
    parameter_name = "about"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the kinds that there are."""
        actions = model_admin.get_queryset(request).order_by().values_list("action", flat=True)
        kinds = {name.partition(".")[0] for name in actions.distinct()}
        return [(kind, kind) for kind in sorted(kinds)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the entries of the kind."""
        return queryset.filter(action__startswith=f"{self.value()}.") if self.value() else queryset


class ViaFilter(ConditionFilter):
    """Filter by surface."""

    title = "via"
    parameter_name = "via"
    conditions: ClassVar = {via: (via, Q(via=via)) for via in VIAS}


@admin.register(AuditEntry)
class AuditAdmin(LongList[AuditEntry]):
    """Changes and decisions. The database refuses to change or delete an entry."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {"view": "audit:read", "verify": "audit:read"}
    list_display = ("when", "actor", "via", "action", "label", "of_workspace", "number")
    list_display_links = ("when", "action")
    list_select_related = ("workspace",)
    list_filter = ("workspace", KindFilter, ViaFilter, "at")
    search_fields = ("actor", "action", "=target", "label")
    search_help_text = "An actor, an action (agent.change), a target (agent:17), or a name."
    sortable_by = ()
    actions_list = ("verify_chains",)
    fields = (
        *("at", "actor", "via", "action", "about", "label", "of_workspace", "what"),
        *("chain", "number", "previous", "hash"),
    )

    when = Column[AuditEntry]("when", lambda row: moment(row.at))
    what = Column[AuditEntry](
        "details", lambda row: json_block(row.details) if row.details else "-"
    )

    @admin.display(description="workspace")
    def of_workspace(self, row: AuditEntry) -> str:
        """Return the workspace; an entry outlives its workspace."""
        if row.workspace_id is None:
            return "the installation"
        try:
            return str(row.workspace)
        except Workspace.DoesNotExist:
            return f"{row.workspace_id} (deleted)"

    @admin.display(description="target")
    def about(self, entry: AuditEntry) -> SafeString | str:
        """Return the target, as a link to its page where it has one."""
        name, _, key = entry.target.partition(":")
        for app in (model._meta.app_label for model in self.admin_site._registry):
            with suppress(NoReverseMatch):
                return link(reverse(f"admin:{app}_{name}_change", args=[key]), entry.target)
        return entry.target or "-"

    @page_action("Verify", icon="verified", permission="verify", variant="PRIMARY")
    def verify_chains(self, request: HttpRequest) -> HttpResponse:
        """Verify the chains that the user may read, and report breaks."""
        reach = permissions_for(request)
        own = reach.rows(Workspace.objects.all(), "pk", self.scope_of("view"))
        spaces: list[Workspace | None] = [None] if reach.everywhere else [*own]
        broken = [one for space in spaces for one in verify(space)]
        for found in broken:
            chain = f"workspace {found.workspace_id}" if found.workspace_id else "the installation"
            messages.error(
                request,
                f"The chain of {chain} does not hold: entry {found.number}: {found.problem}.",
            )
        if not broken:
            ends = [one for space in spaces for one in chain_heads(space)]
            entries, chains = sum(end.number for end in ends), amounts.counted(len(ends), "chain")
            messages.success(
                request,
                f"All chains hold: {entries:,} entries in {chains}; none was changed, moved or "
                "taken out.",
            )
        return redirect("admin:base_auditentry_changelist")
