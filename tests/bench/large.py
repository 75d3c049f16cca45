"""LARGE: pages and requests of a workspace with millions of finished runs of the last ten days.

Each page is asked for by a superuser, who sees all of it, and has no figure in a cache. The size is
that of ``--large-runs``; 10,000,000 are a million runs a day.
"""

from __future__ import annotations

import statistics
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from agents.housekeeping.roll_up import roll_up
from agents.reads.health import SPANS
from tests.bench import bulk, flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row
from tests.bench.flow import Job
from tests.bench.rest_client import RestClient
from tests.bench.said import say
from tests.bench.workloads import LEAD, SOLO
from tests.clients import Client
from tests.web.people import person

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.bench.plan import Plan

PAGE_MS: Final = 200.0
ROUNDS: Final = 7
GIVE_UP_SECONDS: Final = 60.0
DAYS: Final = 10


def measure(plan: Plan) -> Row:
    """Its row."""
    say(f"LARGE: {plan.large_runs} runs in {DAYS} days")
    with Crew(Posts()) as crew:
        [run] = crew.flow.at_once([Job(SOLO, "Hello.")])
        flow.wait_ended([run], seconds=GIVE_UP_SECONDS)
        few = dict(_times(crew.workspace, run))
        began = time.monotonic()
        bulk.spread(run, count=plan.large_runs, days=DAYS)
        bulk.settle()
        inserted = time.monotonic() - began
        began = time.monotonic()
        roll_up(timezone.now())
        rolled_up = time.monotonic() - began
        say(f"LARGE: inserted in {inserted:.0f} s")
        many = dict(_times(crew.workspace, run))
        sizes = _sizes()
    figures = tuple(Figure(name, taken, target=PAGE_MS) for name, taken in many.items())
    also = {
        "runs": plan.large_runs,
        "insert_seconds": round(inserted),
        "roll_up_seconds": round(rolled_up, 1),
        "ms_of_one_run": {name: round(taken, 1) for name, taken in few.items()},
        "table_mb": sizes,
    }
    return Row("LARGE", "superuser", figures, also)


def _times(workspace: Workspace, run: UUID) -> Iterator[tuple[str, float]]:
    """Yield each page with its median in milliseconds."""
    client = Client(headers={"host": "localhost"})
    client.force_login(person(operator=True), backend="django.contrib.auth.backends.ModelBackend")
    for name, address in _addresses(workspace, run).items():
        _page(client, address)  # imports the view
        yield name, statistics.median(_page(client, address) for _ in range(ROUNDS))
    with RestClient(workspace) as program:
        for path in ("/runs", "/usage", "/agents", "/workflow-statistics"):
            program.ask("GET", path)
            yield f"GET {path}", statistics.median(_asked(program, path) for _ in range(ROUNDS))


def _addresses(workspace: Workspace, run: UUID) -> dict[str, str]:
    work = f"/w/{workspace.slug}"
    return {
        "runs": f"{work}/runs/",
        "runs by words, none found": f"{work}/runs/?text=zeppelin",
        "runs by words, all found": f"{work}/runs/?text=hello",
        "runs by words, some found": f"{work}/runs/?text=a1",  # 1 of 256, as md5 has it
        "runs by words, few found": f"{work}/runs/?text=order17",
        "runs by words and cost": f"{work}/runs/?text=hello&sort=-cost",
        "runs by cost": f"{work}/runs/?sort=-cost",
        "runs that failed": f"{work}/runs/?status=failed",
        "runs that are queued": f"{work}/runs/?status=queued",
        "runs of an idle agent": f"{work}/runs/?agent={LEAD}",
        "runs until five days ago": f"{work}/runs/?until={_days_ago(5)}",
        "run": f"{work}/runs/{run}/",
        "inbox": f"{work}/inbox/",
        "schedules": f"{work}/schedules/",
        "agents": f"{work}/agents/",
        "agent": f"{work}/agents/{SOLO}/",
        "versions of an agent": f"{work}/agents/{SOLO}/versions/",
        **{f"health of {span}": f"{work}/health/?range={span}" for span in SPANS},
        "usage": f"{work}/health/usage/",
        "workers": f"{work}/health/fleet/",
        "find": f"{work}/find/?q=hello",
        "admin: runs": "/admin/agents/run/",
        "admin: model calls": "/admin/base/usageentry/",
    }


def _days_ago(days: int) -> str:
    return f"{timezone.now() - timedelta(days=days):%Y-%m-%d}"


def _page(client: Client, address: str) -> float:
    """Return the milliseconds of a page whose figures are in no cache."""
    cache.clear()
    began = time.perf_counter()
    answer: Any = client.get(address)
    taken = (time.perf_counter() - began) * 1000
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answered {answer.status_code}")
    return taken


def _asked(program: RestClient, path: str) -> float:
    began = time.perf_counter()
    program.ask("GET", path)
    return (time.perf_counter() - began) * 1000


def _sizes() -> dict[str, int]:
    """Return the megabytes of each table with its indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) / 1000000 FROM pg_class"
            " WHERE relkind = 'r' AND pg_total_relation_size(oid) > 1000000"
            " AND relnamespace = 'public'::regnamespace ORDER BY 2 DESC"
        )
        return {name: int(size) for name, size in cursor.fetchall()}
