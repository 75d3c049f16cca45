"""TOKENS: how long a token takes from the model to the sockets of those who watch its run.

Every piece of the answer is the time at which the model server sends it, so the way is measured
whole: to the worker, its coalescing, Valkey, the web process, a page's socket. All watchers are
in this process, each on a socket of its own, and a watcher's figure is that of each piece it is
told of. What a browser needs to draw it is not in it.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from django.conf import settings
from websockets.asyncio.client import connect

from tests.api.server import WebServer
from tests.bench import flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row, percentile
from tests.bench.flow import Job
from tests.bench.said import say
from tests.bench.workloads import SOLO
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from uuid import UUID

    from tests.bench.plan import Plan

LATENCY_MS = 3000.0  # before the first piece: all watch by then
GIVE_UP_SECONDS = 60.0
TOLD_PERCENT = 99.0  # pieces are best effort; the answer is journaled whole
#: Milliseconds, at the median and in 95 of 100 cases, of one watcher and of many.
ONE_MS = (60.0, None)
MANY_MS = (90.0, 200.0)


def measure(plan: Plan) -> list[Row]:
    """Its rows."""
    with WebServer() as site, Crew(Posts()) as crew:
        cookie = session_of(member(crew.workspace))
        flow.wait_ended(crew.flow.at_once([Job(SOLO, "Hello.")] * 3), seconds=GIVE_UP_SECONDS)
        rows = []
        for count, targets in ((1, ONE_MS), (plan.watchers, MANY_MS)):
            say(f"TOKENS: {plan.tokens} pieces in {plan.token_seconds:g} s, {count} watching")
            spread = plan.token_seconds * 1000
            task = f"[[latency: {LATENCY_MS:g}]] [[stream: {spread:g}]] [[clock: {plan.tokens}]]"
            [run] = crew.flow.at_once([Job(SOLO, task)])
            address = f"{site.url}/ws/{crew.workspace.slug}/runs/{run}/"
            heard = asyncio.run(_watched(address.replace("http", "ws", 1), cookie, count))
            rows.append(_row(run, heard, pieces=plan.tokens, targets=targets))
        return rows


def _row(
    run: UUID, heard: list[list[float]], *, pieces: int, targets: tuple[float | None, float | None]
) -> Row:
    late = [milliseconds for one in heard for milliseconds in one]
    told = 100 * len(late) / (pieces * len(heard))
    figures = (
        Figure("pieces told", told, "%", TOLD_PERCENT, at_least=True),
        Figure("p50", percentile(late, 0.5), target=targets[0]),
        Figure("p95", percentile(late, 0.95), target=targets[1]),
    )
    watching = f"{len(heard)} watching"
    return Row("TOKENS", watching, figures, {"run": str(run)})


async def _watched(address: str, cookie: str, count: int) -> list[list[float]]:
    """For each watcher, how late each piece came, in milliseconds."""
    async with asyncio.timeout(GIVE_UP_SECONDS):
        return await asyncio.gather(*(_watch(address, cookie) for _ in range(count)))


async def _watch(address: str, cookie: str) -> list[float]:
    headers = {"cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}"}
    origin: Any = address.replace("ws", "http", 1).split("/ws/")[0]
    late: list[float] = []
    async with connect(address, origin=origin, additional_headers=headers, max_size=None) as page:
        await page.send(json.dumps({"type": "resume", "after": {}}))
        async for frame in page:
            now = time.time()
            told = json.loads(frame)
            if told["type"] == "end":
                break
            text = "".join(one["text"] for one in told["lines"] if one["type"] == "delta")
            late += [(now - float(stamp)) * 1000 for stamp in text.split(";") if stamp]
    return late
