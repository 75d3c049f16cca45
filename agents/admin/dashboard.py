"""The admin's first page: what runs, who works, what it costs today."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from django.utils.html import format_html, format_html_join

from agents.admin import queries, words
from agents.choices import RunStatus
from agents.fleet import Fleet, QueueNow, WorkerNow, read_fleet
from heartbit_site.base.admin.themed import Tone, pill

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.utils.safestring import SafeString

    from agents.models import Run

LAST_RUNS = 8
WORKER_TONES: dict[str, Tone] = {"alive": "success", "leaving": "warning", "stale": "danger"}


@dataclass(frozen=True, slots=True)
class Row:
    """One of the last runs."""

    run: Run
    pill: SafeString
    lasted: str
    accepted: str


@dataclass(frozen=True, slots=True)
class FleetTable:
    """Workers and queues, ready to be shown: each with its pill and times."""

    now: Fleet
    workers: list[tuple[WorkerNow, SafeString, str, str]]
    queues: list[tuple[QueueNow, SafeString, str]]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What the page shows.

    Attributes:
        statuses: Today's runs: status, its pill and how many.
        waiting: Tool calls that wait for a person.
        quarantined: Runs that killed their workers, for a person to settle.
        problems: What is wrong with the fleet.
        fleet: None: the reader may not see workers.
    """

    waiting: int
    today: int
    statuses: list[tuple[str, SafeString, int]]
    live: list[tuple[SafeString, int]]
    live_total: int
    tokens: str
    cost: str
    calls: int
    quarantined: int
    problems: list[SafeString]
    fleet: FleetTable | None
    rows: list[Row]


def context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback: add the dashboard for those who may see runs."""
    if request.user.has_perm("agents.view_run"):
        sees_fleet = request.user.has_perm("agents.view_workerheartbeat")
        context["dashboard"] = read(sees_fleet=sees_fleet)
    return context


def read(*, sees_fleet: bool) -> Dashboard:
    """Read the page: ten queries."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    statuses = queries.statuses_since(midnight)
    live = queries.live_statuses()
    spent = queries.spent_since(midnight)
    fleet = _table(read_fleet()) if sees_fleet else None
    return Dashboard(
        waiting=queries.waiting_calls().count(),
        today=sum(statuses.values()),
        statuses=[(s, words.run_pill(s), statuses[s]) for s in RunStatus.values if s in statuses],
        live=[(words.run_pill(s), live[s]) for s in RunStatus.values if s in live],
        live_total=sum(live.values()),
        tokens=words.tokens(spent.input_tokens, spent.output_tokens),
        cost=words.cost(spent),
        calls=spent.calls,
        quarantined=queries.quarantined().count(),
        problems=[_with_code(one) for one in fleet.now.problems] if fleet is not None else [],
        fleet=fleet,
        rows=[
            Row(run, words.run_pill(run.status), words.lasted(run), words.clock(run.created_at))
            for run in queries.last_runs(LAST_RUNS)
        ],
    )


def _with_code(sentence: str) -> SafeString:
    """A sentence with what stands between backquotes as code."""
    parts = enumerate(sentence.split("`"))
    return format_html_join("", "{}", ((_part(text, is_code=n % 2 == 1),) for n, text in parts))


def _part(text: str, *, is_code: bool) -> SafeString | str:
    return format_html("<code>{}</code>", text) if is_code else text


def _table(fleet: Fleet) -> FleetTable:
    return FleetTable(
        now=fleet,
        workers=[
            (
                worker,
                pill(worker.state.capitalize(), tone=WORKER_TONES[worker.state]),
                words.duration(timedelta(seconds=worker.uptime_seconds)),
                words.duration(timedelta(seconds=worker.beat_seconds)),
            )
            for worker in fleet.workers
        ],
        queues=[
            (
                queue,
                pill("Served", tone="success") if queue.served else pill("Nobody", tone="danger"),
                words.duration(timedelta(seconds=queue.oldest_seconds)) if queue.depth else "-",
            )
            for queue in fleet.queues
        ],
    )
