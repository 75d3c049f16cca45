"""Runs in the admin: a list with filters and search; a run's page is the one of its workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.shortcuts import redirect
from django.utils.html import format_html
from unfold.contrib.filters.admin import ChoicesCheckboxFilter, RadioFilter
from unfold.paginator import InfinitePaginator

from agents.admin import formatting, run_views
from agents.admin.links import RunLinks, run_url
from agents.models import Agent, Run
from heartbit_site.base.access import visible_to
from heartbit_site.base.admin.themed import ReadOnlyAdmin

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString


class TreeFilter(RadioFilter):  # type: ignore[misc]  # unfold has no types
    """Runs that people started, unless sub-agents' are asked for (or something is searched)."""

    title = "sub-agents"
    parameter_name = "runs"
    all_option = ("", "Without sub-agents")

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the choices beside the default."""
        return [("all", "All runs"), ("children", "Sub-agents only")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        """Leave children out, in or alone."""
        if self.value() == "children":
            return queryset.filter(parent__isnull=False)
        if self.value() == "all" or request.GET.get("q"):
            return queryset
        return queryset.filter(parent__isnull=True)


class AgentFilter(RadioFilter):  # type: ignore[misc]
    """Runs of one agent; the names come from the agents, not from a scan of all runs."""

    title = "agent"
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the names of all agents."""
        agents = visible_to(Agent.objects.all(), request.user)
        names = agents.order_by("name").values_list("name", flat=True).distinct()
        return [(name, name) for name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        """Runs of the agent."""
        return queryset.filter(agent=self.value()) if self.value() else queryset


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin[Run]):
    """Runs of every workspace."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read"}
    list_display = ("what", "state", "amount", "lasted", "accepted", "started_by")
    list_display_links = ("what",)
    preserve_filters = False
    list_filter = (
        ("status", ChoicesCheckboxFilter),
        AgentFilter,
        TreeFilter,
        run_views.ViewFilter,
        ("home", ChoicesCheckboxFilter),
    )
    list_filter_submit = True
    search_fields = ("task", "agent", "started_by", "^id")
    search_help_text = (
        "Words of the task, an agent, who started it, or the beginning of an id; sub-agents count."
    )
    ordering = ("-id",)  # time-ordered, and an index: pages cost the same in a full table
    paginator = InfinitePaginator
    show_full_result_count = False
    list_before_template = "admin/agents/run/views.html"
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_fullwidth = True
    live = "runs"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Let every row lead to the page of its run."""
        return RunLinks

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list below the usual searches."""
        context = {"quick_links": run_views.links(request)} | (extra_context or {})
        return super().changelist_view(request, context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Lead to the run's page; a run that is not theirs is answered as one that is not there."""
        run = self.get_object(request, object_id)
        if run is None or request.method != "GET" or not self.has_view_permission(request, run):
            return super().change_view(request, object_id, form_url, extra_context)
        return redirect(run_url(run.workspace, run.pk))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Long texts stay in the table."""
        runs = super().get_queryset(request).select_related("workspace")
        return runs.defer("output", "error", "payload", "structured")

    @admin.display(description="run")
    def what(self, run: Run) -> SafeString:
        """Return the agent and the task."""
        return format_html(
            '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>',
            run.agent,
            run.task[:200],
        )

    @admin.display(description="status", ordering="status")
    def state(self, run: Run) -> SafeString:
        """Return the status as a label."""
        return formatting.run_pill(run.status)

    @admin.display(description="tokens")
    def amount(self, run: Run) -> str:
        """Tokens of this run alone."""
        return formatting.tokens(run.input_tokens, run.output_tokens)

    @admin.display(description="duration")
    def lasted(self, run: Run) -> str:
        """Return the time from acceptance to the end, or until now."""
        return formatting.run_duration(run)

    @admin.display(description="accepted", ordering="id")
    def accepted(self, run: Run) -> str:
        """Return the time at which the run was accepted."""
        return formatting.clock(run.created_at)
