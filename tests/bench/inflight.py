"""INFLIGHT: a thousand runs in flight in one worker process, on a model that takes 20 seconds.

Runs are submitted evenly, as many a second as end in one, so that the number in flight, which the
model server counts, stays where it is while the second half of them begins: they are those whose
added latency counts (acceptance to end, minus the model's latency). Memory is looked at with 1,
100 and 1,000 in flight; connections are the database's sessions that bear the worker's names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import connection

from tests.bench import costs, flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row, percentile
from tests.bench.flow import Job
from tests.bench.said import say
from tests.bench.workloads import SOLO
from tests.fleet import wait_until

if TYPE_CHECKING:
    from tests.bench.plan import Plan

SLOTS = 1200
WARM_UP = 20
MORE = 1.06  # a slow moment keeps some longer; memory is not judged by those beyond
SPARE = 1.02  # so that the number is held also while a moment's submissions come late
SHORT_SECONDS = 10.0  # long enough for a slow machine to have a hundred begun
GIVE_UP_SECONDS = 120
RSS_MB = 250.0
ADDED_MS = 500.0
_NAME = "heartbit-worker"  # of the worker's sessions that give themselves no other name
_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'heartbit%'"


class _Watch:
    """The worker and the model server, looked at while runs are in flight."""

    def __init__(self, crew: Crew, *, wanted: int) -> None:
        self._crew = crew
        self._wanted = wanted
        self.in_flight = 0
        self.rss_mb = 0.0
        self.sessions = 0

    def look(self) -> None:
        """Remember the most of everything; of the memory, while no more are held than wanted."""
        in_flight = self._crew.wire.stats()["in_flight"]
        self.in_flight = max(self.in_flight, in_flight)
        if in_flight <= self._wanted * MORE:
            self.rss_mb = max(self.rss_mb, costs.rss_mb(self._crew.workers[0].pid))
        self.sessions = max(self.sessions, _sessions())


def measure(plan: Plan) -> Row:
    """Its row."""
    wanted, latency = plan.in_flight, plan.in_flight_seconds
    say(f"INFLIGHT: {wanted} runs in one worker, {latency:g} s a model call")
    with Crew(Posts(slots=SLOTS, environment={"PGAPPNAME": _NAME})) as crew:
        flow.wait_ended(crew.flow.at_once([Job(SOLO, "Hello.")] * WARM_UP), seconds=GIVE_UP_SECONDS)
        also: dict[str, Any] = {"runs": 0, "rss_mb_at": {}}
        for count in (1, 100):
            also["rss_mb_at"][str(count)] = round(_rss_at(crew, count), 1)
        watch = _Watch(crew, wanted=wanted)
        count = int(2 * wanted * SPARE)
        job = Job(SOLO, f"[[latency: {latency * 1000:g}]] Hello.")
        ids = crew.flow.at_pace(job, count=count, seconds=2 * latency, watch=watch.look)
        left = flow.wait_ended(ids, seconds=latency + GIVE_UP_SECONDS)
        seen = flow.times(ids)
        also["runs"] = count
        also["rss_mb_at"][str(wanted)] = round(watch.rss_mb, 1)
        also["rss_mb_peak"] = round(costs.peak_rss_mb(crew.workers[0].pid), 1)
        added = [(each.seconds - latency) * 1000 for each in seen[count // 2 :]]
        also["added_latency_p50_ms"] = round(percentile(added, 0.5), 1)
        figures = (
            Figure("runs in flight", watch.in_flight, "runs", wanted, at_least=True),
            Figure("not succeeded", left + _failed(seen), "runs", 0),
            Figure("RSS of the worker", watch.rss_mb, "MB", RSS_MB),
            Figure("added latency p95", percentile(added, 0.95), "ms", ADDED_MS),
            Figure("database connections", watch.sessions, ""),
        )
        return Row("INFLIGHT", "durable", figures, also)


def _rss_at(crew: Crew, count: int) -> float:
    """Megabytes with so many runs on the model."""
    job = Job(SOLO, f"[[latency: {SHORT_SECONDS * 1000:g}]] Hello.")
    ids = crew.flow.at_once([job] * count)
    wait_until(
        lambda: crew.wire.stats()["in_flight"] >= count,
        seconds=2 * SHORT_SECONDS,
        what=f"{count} runs in flight",
    )
    rss = costs.rss_mb(crew.workers[0].pid)
    flow.wait_ended(ids, seconds=GIVE_UP_SECONDS)
    return rss


def _failed(seen: list[flow.Times]) -> int:
    return sum(each.status != "succeeded" and each.finished_at is not None for each in seen)


def _sessions() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_SESSIONS)
        return int(cursor.fetchone()[0])
