"""The admin's first page: what runs, who works, what it costs today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from agents.admin import queries, words
from agents.choices import RunStatus

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.utils.safestring import SafeString

    from agents.models import Run, WorkerHeartbeat

LAST_RUNS = 8


@dataclass(frozen=True, slots=True)
class Row:
    """One of the last runs."""

    run: Run
    pill: SafeString
    lasted: str
    accepted: str


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What the page shows.

    Attributes:
        statuses: Today's runs: status, its pill and how many.
        waiting: Tool calls that wait for a person.
        held: Runs that workers hold now.
    """

    waiting: int
    today: int
    statuses: list[tuple[str, SafeString, int]]
    live: list[tuple[SafeString, int]]
    live_total: int
    tokens: str
    cost: str
    calls: int
    workers: list[WorkerHeartbeat]
    slots: int
    held: int
    rows: list[Row]


def context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback: add the dashboard for those who may see runs."""
    if request.user.has_perm("agents.view_run"):
        context["dashboard"] = read()
    return context


def read() -> Dashboard:
    """Read the page: six queries."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    statuses = queries.statuses_since(midnight)
    live = queries.live_statuses()
    spent = queries.spent_since(midnight)
    workers = list(queries.alive_workers())
    return Dashboard(
        waiting=queries.waiting_calls().count(),
        today=sum(statuses.values()),
        statuses=[(s, words.run_pill(s), statuses[s]) for s in RunStatus.values if s in statuses],
        live=[(words.run_pill(s), live[s]) for s in RunStatus.values if s in live],
        live_total=sum(live.values()),
        tokens=words.tokens(spent.input_tokens, spent.output_tokens),
        cost=words.cost(spent),
        calls=spent.calls,
        workers=workers,
        slots=sum(worker.slots for worker in workers),
        held=sum(getattr(worker, "held", 0) for worker in workers),
        rows=[
            Row(run, words.run_pill(run.status), words.lasted(run), words.clock(run.created_at))
            for run in queries.last_runs(LAST_RUNS)
        ],
    )
