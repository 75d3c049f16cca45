"""WAITERS: how long after its run's end a client is answered, with up to a thousand waiting.

Each client waits for a run of its own at ``/result?wait`` of one web process, over a connection of
its own; the runs end evenly over some seconds, a hundred a second at most. What counts is the time
from ``finished_at``, by the database's clock, to the first line of the answer, all on one machine.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.api.server import WebServer, key_for
from tests.bench import flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row, percentile
from tests.bench.flow import Job
from tests.bench.said import say
from tests.bench.workloads import SOLO

if TYPE_CHECKING:
    from uuid import UUID

    from tests.bench.plan import Plan

COUNTS = (64, 256, 1000)
SLOTS = 1200
WARM_UP = 20
A_SECOND = 100  # ends
LEAST_SECONDS = 4.0  # over which they are spread
SUBMITTED_SECONDS = 0.03  # a run, on a slow machine: all wait before the first one ends
GIVE_UP_SECONDS = 55.0
P95_MS = 50.0  # of a thousand


@dataclass(frozen=True, slots=True)
class _Answer:
    """When a client asked and when it was answered, in seconds since 1970."""

    asked_at: float
    at: float


def measure(plan: Plan) -> list[Row]:
    """Its rows."""
    with Crew(Posts(slots=SLOTS)) as crew, WebServer(HEARTBIT_API_RATE_LIMIT="1000000") as site:
        key = key_for(crew.workspace)
        flow.wait_ended(crew.flow.at_once([Job(SOLO, "Hello.")] * WARM_UP), seconds=GIVE_UP_SECONDS)
        counts = [count for count in COUNTS if count <= plan.waiters]
        return [_measure(crew, site, key, count) for count in counts]


def _measure(crew: Crew, site: WebServer, key: str, count: int) -> Row:
    say(f"WAITERS: {count} clients wait for results")
    spread = max(LEAST_SECONDS, count / A_SECOND)
    first = 2 + count * SUBMITTED_SECONDS
    latencies = [first + spread * number / count for number in range(count)]
    jobs = [Job(SOLO, f"[[latency: {seconds * 1000:.0f}]] Hello.") for seconds in latencies]
    ids = crew.flow.at_once(jobs)
    answered = asyncio.run(_waited(site.url, key, ids))
    ended = {each.id: each.finished_at for each in flow.times(ids)}
    ends = {run: at.timestamp() for run, at in ended.items() if at is not None and run in answered}
    late = [(answered[run].at - at) * 1000 for run, at in ends.items()]
    early = sum(answered[run].asked_at > at for run, at in ends.items())
    figures = (
        Figure("not answered", count - len(late), "clients", 0),
        Figure("had not asked yet at its run's end", early, "clients", 0),
        Figure("run's end to answer, p50", percentile(late, 0.5)),
        Figure("run's end to answer, p95", percentile(late, 0.95), target=P95_MS),
    )
    return Row("WAITERS", f"{count} waiting", figures, {"runs": count})


async def _waited(url: str, key: str, runs: list[UUID]) -> dict[UUID, _Answer]:
    """The answers of the clients that were given a result in time."""
    waits = {run: asyncio.create_task(_wait(url, key, run)) for run in runs}
    await asyncio.wait(waits.values(), timeout=GIVE_UP_SECONDS + 10)
    ended = {run: wait for run, wait in waits.items() if wait.done() and not wait.exception()}
    return {run: one for run, wait in ended.items() if (one := wait.result()) is not None}


async def _wait(url: str, key: str, run: UUID) -> _Answer | None:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"GET /api/v1/runs/{run}/result?wait={GIVE_UP_SECONDS:g} HTTP/1.1\r\n"
    head += f"Host: {address.netloc}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    asked_at = time.time()
    answer = await reader.readline()
    at = time.time()
    await reader.read()
    writer.close()
    return _Answer(asked_at, at) if answer.startswith(b"HTTP/1.1 200") else None
