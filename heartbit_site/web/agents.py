"""Agents as pages: the list, an agent's versions with their traffic, and one version compared."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from agents.actions.rollback_agent import rollback_agent
from agents.admin.version import shown_diff
from agents.definitions.kinds import AGENT
from agents.definitions.snapshot_diff import compare
from agents.models import Agent
from agents.reads.agent_traffic import DAYS, Traffic, traffic_of_agents, traffic_of_versions
from agents.reads.agents import find_editable, find_version
from heartbit_site.base import amounts
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import HeartbitError
from heartbit_site.web.page import page, show


@page("agents:read")
def agents(request: HttpRequest, access: Access) -> HttpResponse:
    """List the agents that people edit, with their last days."""
    rows = Agent.objects.filter(workspace=access.workspace, origin="", kind=AGENT.name)
    rows = rows.select_related("current_version", "draft").order_by("name")
    traffic = traffic_of_agents(access.workspace)
    context = {
        "rows": [(row, figures(traffic.get(row.pk, Traffic()))) for row in rows],
        "days": DAYS,
    }
    return show(request, access, "web/agents.html", context, here="agents")


@page("agents:read")
def versions(request: HttpRequest, access: Access, agent: str) -> HttpResponse:
    """List the published versions of an agent, the newest first."""
    row = find_editable(access.workspace, agent)
    traffic = traffic_of_versions(row)
    rows = [
        (version, figures(traffic.get(version.pk, Traffic())))
        for version in row.versions.order_by("-number")
    ]
    context = {"agent": row, "rows": rows, "days": DAYS}
    return show(request, access, "web/agent_versions.html", context, here="agents")


@require_http_methods(["GET", "POST"])
@page("agents:read")
def version(request: HttpRequest, access: Access, agent: str, version: int) -> HttpResponse:
    """Show what a version would change; a POST rolls back to it."""
    row = find_editable(access.workspace, agent)
    wanted = find_version(row, version)
    problem, status = "", 200
    if request.method == "POST":
        try:
            anyway = "anyway" in request.POST
            done = rollback_agent(row, version, by=actor_of(access), anyway=anyway)
        except HeartbitError as error:
            problem, status = str(error), 409
        else:
            messages.success(request, f"Rolled back: runs from now on use v{done.version.number}.")
            if done.differs:
                messages.warning(request, f"Not as in v{done.wanted}: {done.differs}.")
            return redirect("web:agent-versions", access.workspace.slug, row.name)
    current = row.current_version
    is_current = current is None or current.pk == wanted.pk
    context = {
        "agent": row,
        "version": wanted,
        "current": current,
        "is_current": is_current,
        "diff": shown_diff(compare(current.snapshot, wanted.snapshot)) if current else None,
        "problem": problem,
    }
    return show(request, access, "web/agent_version.html", context, here="agents", status=status)


def _cost(traffic: Traffic) -> str:
    if traffic.cost_usd is None:
        return "unknown"
    return amounts.money(traffic.cost_usd) if traffic.runs else "-"


def figures(traffic: Traffic) -> dict[str, Any]:
    """Return traffic as texts, with its last run."""
    return {
        "runs": f"{traffic.runs:,}",
        "failures": f"{traffic.failures:,}",
        "has_failures": traffic.failures > 0,
        "cost": _cost(traffic),
        "latency": "-" if traffic.seconds is None else amounts.duration(traffic.seconds),
        "last_run": traffic.last_run,
        "last_status": traffic.last_status,
    }
