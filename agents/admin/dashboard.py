"""The admin's first page: what runs, what failed, what waits, what it costs, who works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString

from agents.admin import charts, formatting, statistics
from agents.choices import RunStatus
from agents.models import Run
from agents.reads.fleet import read_fleet
from agents.reads.views import FleetOut
from heartbit_site.admin.columns import Tone, pill
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.base import amounts
from heartbit_site.shell.moment import moment, short
from heartbit_site.shell.sentences import with_code

LAST_RUNS = 8
WORKER_TONES: dict[str, Tone] = {"alive": "success", "leaving": "warning", "stale": "danger"}


def context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback: add the dashboard for those who may see runs."""
    reach = permissions_for(request)
    if reach.allows("runs:read"):
        context["dashboard"] = read(request.user, sees_fleet=reach.everywhere)
    return context


def read(user: Any, *, sees_fleet: bool) -> dict[str, Any]:
    """Return the content of ``index.html``: ``statistics.read``'s queries, and the fleet's."""
    found = statistics.read(user)
    today = found.days[-1]
    tracker = [_row(run) for run in reversed(found.last)]
    return {
        "figures": found,
        "today": today,
        "statuses": _counted(today.runs, lambda s: charts.runs_link(today, status__exact=s)),
        "live": _counted(found.live, lambda s: charts.runs_link(status__exact=s, runs="all")),
        "live_total": sum(found.live.values()),
        "cost": _cost([today]),
        "cost_before": _cost([found.days[-2]]),
        "activity": charts.activity(found.days),
        "legend": charts.legend(found.days),
        "total": sum(day.total for day in found.days),
        "spend": charts.spend(found.days),
        "spent": _cost(found.days),
        "unpriced": sum(day.unpriced for day in found.days),
        "latency": charts.latency(found.days),
        "most_runs": _ranked(map(_runs_of, found.most_runs)),
        "most_cost": _ranked(map(_cost_of, found.most_cost)),
        "links": _links(today),
        "fleet": _fleet(read_fleet()) if sees_fleet else None,
        "tracker": tracker,
        "rows": tracker[: -LAST_RUNS - 1 : -1],
    }


def _links(today: statistics.Day) -> dict[str, str]:
    return {
        "today": charts.runs_link(today),
        "failed": charts.runs_link(today, status__in="failed,quarantined"),
        "live": charts.runs_link(status__in="queued,running,waiting", runs="all"),
        "queued": charts.runs_link(status__exact="queued", runs="all"),
        "quarantined": charts.runs_link(status__exact="quarantined", runs="all"),
        "calls": charts.usage_link(today),
        "unpriced": charts.usage_link(today, price="unknown"),
        "all_unpriced": charts.usage_link(price="unknown"),
    }


def _runs_of(agent: statistics.TopAgent) -> tuple[str, int, str, str]:
    note = f"{agent.failed} failed" if agent.failed else ""
    return agent.name, agent.runs, amounts.counted(agent.runs, "run"), note


def _cost_of(agent: statistics.TopAgent) -> tuple[str, Decimal, str, str]:
    figure = amounts.money(agent.cost) if agent.cost or not agent.unpriced else "unknown"
    note = f"{amounts.counted(agent.unpriced, 'call')} unpriced" if agent.unpriced else ""
    return agent.name, agent.cost, figure, note


def _counted(
    runs: Mapping[str, int], link: Callable[[str], str]
) -> list[tuple[SafeString, int, str]]:
    """Return the statuses that occur: label, number of runs, and the address of their list."""
    found = [status for status in RunStatus.values if status in runs]
    return [(formatting.run_pill(status), runs[status], link(status)) for status in found]


def _row(run: Run) -> dict[str, Any]:
    """Return one of the last runs; ``said`` is all of it in words."""
    status, lasted = RunStatus(run.status), formatting.run_duration(run)
    return {
        "run": run,
        "tone": formatting.RUN_TONES[status] or "none",
        "pill": formatting.run_pill(status),
        "lasted": lasted,
        "accepted": moment(run.created_at),
        "said": f"{run.agent}: {status.label.lower()}, {lasted}, {short(run.created_at)}",
        "page": formatting.run_url(run.workspace, run.pk),
    }


def _cost(days: Iterable[statistics.Day]) -> str:
    """Return the known cost; the number of calls without a price is shown beside it."""
    found = list(days)
    calls, unpriced = sum(day.calls for day in found), sum(day.unpriced for day in found)
    if calls and calls == unpriced:
        return "unknown"
    return amounts.money(sum((day.cost for day in found), start=Decimal(0)))


def _ranked(agents: Iterable[tuple[str, int | Decimal, str, str]]) -> list[dict[str, str]]:
    """Return agents for ``ranked.html``: ``percent`` is of the highest amount."""
    found = list(agents)
    most = max((amount for _, amount, _, _ in found), default=0) or 1
    return [
        {
            "name": name,
            "figure": figure,
            "note": note,
            "percent": f"{100 * amount / most:.0f}",
            "link": charts.runs_link(agent=name, runs="all"),
        }
        for name, amount, figure, note in found
    ]


def _fleet(fleet: FleetOut) -> dict[str, Any]:
    """Return workers and queues, each with its pill and times, and what is wrong with them."""
    return {
        "totals": fleet.totals,
        "problems": [with_code(one) for one in fleet.problems],
        "workers": [
            (
                worker,
                pill(worker.state.capitalize(), tone=WORKER_TONES[worker.state]),
                amounts.duration(timedelta(seconds=worker.uptime_seconds)),
                amounts.duration(timedelta(seconds=worker.heartbeat_age_seconds)),
            )
            for worker in fleet.workers
        ],
        "queues": [
            (
                queue,
                pill("Served", tone="success")
                if queue.has_workers
                else pill("Nobody", tone="danger"),
                amounts.duration(timedelta(seconds=queue.oldest_seconds)) if queue.depth else "-",
            )
            for queue in fleet.queues
        ],
    }
