"""Runs in the admin: a list with filters and search; a run's page is the one of its workspace."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from unfold.contrib.filters.admin import ChoicesCheckboxFilter, RadioFilter

from agents.admin import formatting
from agents.choices import RunStatus
from agents.models import Agent, Run
from heartbit_site.admin.columns import Column, two_lines
from heartbit_site.admin.themed import LongList
from heartbit_site.base.access import visible_to
from heartbit_site.shell.moment import moment

LONG = timedelta(minutes=10)
VIEWS = {
    "failed": "Failed today",
    "waiting": "Waiting",
    "long": "Long-running",
    "quarantined": "Quarantined",
}


class ViewFilter(RadioFilter):  # type: ignore[misc]  # unfold has no types
    """The searches of runs that people make every day; the list has links to them above it."""

    title = "view"
    parameter_name = "view"
    all_option = ("", "All")

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the names of the views."""
        return list(VIEWS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        """Return the runs of the chosen view."""
        now = timezone.localtime()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        failed = Q(status__in=[RunStatus.FAILED, RunStatus.QUARANTINED])
        active = Q(status__in=[RunStatus.RUNNING, RunStatus.WAITING], finished_at__isnull=True)
        conditions = {
            "failed": failed & Q(created_at__gte=midnight),
            "waiting": Q(status=RunStatus.WAITING, finished_at__isnull=True),
            "long": active & Q(started_at__lt=now - LONG),
            "quarantined": Q(status=RunStatus.QUARANTINED),
        }
        return queryset.filter(conditions.get(self.value() or "", Q()))


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
class RunAdmin(formatting.LeadsToRuns[Run], LongList[Run]):
    """Runs of every workspace."""

    workspace_path = "workspace"
    private_path = "private_to"
    work_page = "web:runs"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read"}
    list_display = ("what", "state", "amount", "lasted", "accepted", "started_by")
    list_filter = (
        ("status", ChoicesCheckboxFilter),
        AgentFilter,
        TreeFilter,
        ViewFilter,
        ("home", ChoicesCheckboxFilter),
    )
    list_filter_submit = True
    search_fields = ("task", "agent", "started_by", "^id")
    search_help_text = (
        "Words of the task, an agent, who started it, or the beginning of an id; sub-agents count."
    )
    list_before_template = "admin/agents/run/views.html"
    live = "definitions runs"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list below the usual searches."""
        page, chosen = reverse("admin:agents_run_changelist"), request.GET.get("view", "")
        links = [(title, f"{page}?view={key}", key == chosen) for key, title in VIEWS.items()]
        context = {"quick_links": [("All", page, not chosen), *links]} | (extra_context or {})
        return super().changelist_view(request, context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Long texts stay in the table."""
        runs = super().get_queryset(request).select_related("workspace")
        return runs.defer("output", "error", "payload", "structured")

    what = Column[Run]("run", lambda row: two_lines(row.agent, row.task[:200]))
    state = Column[Run]("status", lambda row: formatting.run_pill(row.status), ordering="status")

    amount = Column[Run](
        "tokens", lambda row: formatting.tokens(row.input_tokens, row.output_tokens)
    )
    lasted = Column[Run]("duration", formatting.run_duration)
    accepted = Column[Run]("accepted", lambda row: moment(row.created_at), ordering="id")
