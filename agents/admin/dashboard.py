"""The admin's first page: what runs, what failed, what waits, what it costs, who works."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join

from agents.admin import charts, formatting, statistics
from agents.admin.links import run_url
from agents.choices import RunStatus
from agents.reads.fleet import read_fleet
from heartbit_site.base import amounts
from heartbit_site.base.admin.columns import Tone, clock, pill
from heartbit_site.base.admin.permissions import permissions_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from django.http import HttpRequest
    from django.utils.safestring import SafeString

    from agents.models import Run
    from agents.reads.fleet_view import FleetOut, QueueOut, WorkerOut

LAST_RUNS = 8
WORKER_TONES: dict[str, Tone] = {"alive": "success", "leaving": "warning", "stale": "danger"}


@dataclass(frozen=True, slots=True)
class Row:
    """One of the last runs.

    Attributes:
        said: All of it in words, for the tracker.
        page: The address of its page.
    """

    run: Run
    tone: str
    pill: SafeString
    lasted: str
    accepted: str
    said: str
    page: str


@dataclass(frozen=True, slots=True)
class Ranked:
    """An agent in a list of the first ones; ``percent`` of the first one's figure."""

    name: str
    figure: str
    note: str
    percent: str
    link: str


@dataclass(frozen=True, slots=True)
class FleetTable:
    """Workers and queues, ready to be shown: each with its pill and times."""

    now: FleetOut
    workers: list[tuple[WorkerOut, SafeString, str, str]]
    queues: list[tuple[QueueOut, SafeString, str]]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Content of the dashboard.

    Attributes:
        today: The figures of today; ``statuses`` its runs: pill, how many, and their list.
        waiting: Tool calls that wait for a person.
        quarantined: Runs that killed their workers, for a person to settle.
        problems: What is wrong with the fleet.
        tracker: The last runs, the oldest first; ``rows`` the newest of them, that first.
    """

    today: statistics.Day
    statuses: list[tuple[SafeString, int, str]]
    live: list[tuple[SafeString, int, str]]
    live_total: int
    waiting: int
    quarantined: int
    cost: str
    cost_before: str
    activity: charts.Chart
    legend: list[tuple[str, str, int, str]]
    total: int
    spend: charts.Chart
    spent: str
    unpriced: int
    latency: charts.Chart
    most_runs: list[Ranked]
    most_cost: list[Ranked]
    links: dict[str, str]
    problems: list[SafeString]
    fleet: FleetTable | None
    tracker: list[Row]
    rows: list[Row]


def context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback: add the dashboard for those who may see runs."""
    reach = permissions_for(request)
    if reach.allows("runs:read"):
        context["dashboard"] = read(request.user, sees_fleet=reach.everywhere)
    return context


def read(user: Any, *, sees_fleet: bool) -> Dashboard:
    """Read the page: the queries of ``statistics.read``, and those of the fleet."""
    found = statistics.read(user)
    fleet = _table(read_fleet()) if sees_fleet else None
    today = found.days[-1]
    rows = [_row(run) for run in found.last]
    return Dashboard(
        today=today,
        statuses=_counted(today.runs, lambda s: charts.runs_link(today, status__exact=s)),
        live=_counted(found.live, lambda s: charts.runs_link(status__exact=s, runs="all")),
        live_total=sum(found.live.values()),
        waiting=found.waiting,
        quarantined=found.quarantined,
        cost=_cost([today]),
        cost_before=_cost([found.days[-2]]),
        activity=charts.activity(found.days),
        legend=charts.legend(found.days),
        total=sum(day.total for day in found.days),
        spend=charts.spend(found.days),
        spent=_cost(found.days),
        unpriced=sum(day.unpriced for day in found.days),
        latency=charts.latency(found.days),
        most_runs=_by_runs(found.most_runs),
        most_cost=_by_cost(found.most_cost),
        links={
            "today": charts.runs_link(today),
            "failed": charts.runs_link(today, status__in="failed,quarantined"),
            "live": charts.runs_link(status__in="queued,running,waiting", runs="all"),
            "queued": charts.runs_link(status__exact="queued", runs="all"),
            "quarantined": charts.runs_link(status__exact="quarantined", runs="all"),
            "waiting": reverse("admin:agents_toolcall_changelist"),
            "calls": charts.usage_link(today),
            "unpriced": charts.usage_link(today, price="unknown"),
            "all_unpriced": charts.usage_link(price="unknown"),
            "fleet": reverse("admin:agents_workerheartbeat_changelist"),
        },
        problems=[_with_code(one) for one in fleet.now.problems] if fleet is not None else [],
        fleet=fleet,
        tracker=rows[::-1],
        rows=rows[:LAST_RUNS],
    )


def _counted(
    runs: Mapping[str, int], link: Callable[[str], str]
) -> list[tuple[SafeString, int, str]]:
    """Return the statuses that occur: label, number of runs, and the address of their list."""
    found = [status for status in RunStatus.values if status in runs]
    return [(formatting.run_pill(status), runs[status], link(status)) for status in found]


def _row(run: Run) -> Row:
    status, lasted = RunStatus(run.status), formatting.run_duration(run)
    return Row(
        run=run,
        tone=formatting.RUN_TONES[status] or "none",
        pill=formatting.run_pill(status),
        lasted=lasted,
        accepted=clock(run.created_at),
        said=f"{run.agent}: {status.label.lower()}, {lasted}, {clock(run.created_at)}",
        page=run_url(run.workspace, run.pk),
    )


def _cost(days: Iterable[statistics.Day]) -> str:
    """Return the known cost; the number of calls without a price is shown beside it."""
    found = list(days)
    calls, unpriced = sum(day.calls for day in found), sum(day.unpriced for day in found)
    if calls and calls == unpriced:
        return "unknown"
    return amounts.money(sum((day.cost for day in found), start=Decimal(0)))


def _by_runs(agents: list[statistics.TopAgent]) -> list[Ranked]:
    most = max((agent.runs for agent in agents), default=1)
    return [
        _ranked(
            agent.name,
            amounts.counted(agent.runs, "run"),
            f"{agent.failed} failed" if agent.failed else "",
            agent.runs / most,
        )
        for agent in agents
    ]


def _by_cost(agents: list[statistics.TopAgent]) -> list[Ranked]:
    most = max((agent.cost for agent in agents), default=None) or 1
    return [
        _ranked(
            agent.name,
            amounts.money(agent.cost) if agent.cost or not agent.unpriced else "unknown",
            f"{amounts.counted(agent.unpriced, 'call')} unpriced" if agent.unpriced else "",
            agent.cost / most,
        )
        for agent in agents
    ]


def _ranked(name: str, figure: str, note: str, share: float | Decimal) -> Ranked:
    link = charts.runs_link(agent=name, runs="all")
    return Ranked(name, figure, note, f"{100 * share:.0f}", link)


def _with_code(sentence: str) -> SafeString:
    """Return a sentence with the text between backquotes as code."""
    parts = enumerate(sentence.split("`"))
    return format_html_join("", "{}", ((_part(text, is_code=n % 2 == 1),) for n, text in parts))


def _part(text: str, *, is_code: bool) -> SafeString | str:
    return format_html("<code>{}</code>", text) if is_code else text


def _table(fleet: FleetOut) -> FleetTable:
    return FleetTable(
        now=fleet,
        workers=[
            (
                worker,
                pill(worker.state.capitalize(), tone=WORKER_TONES[worker.state]),
                amounts.duration(timedelta(seconds=worker.uptime_seconds)),
                amounts.duration(timedelta(seconds=worker.heartbeat_age_seconds)),
            )
            for worker in fleet.workers
        ],
        queues=[
            (
                queue,
                pill("Served", tone="success")
                if queue.has_workers
                else pill("Nobody", tone="danger"),
                amounts.duration(timedelta(seconds=queue.oldest_seconds)) if queue.depth else "-",
            )
            for queue in fleet.queues
        ],
    )
