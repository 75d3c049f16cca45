"""HEALTH: a member's page of the last 30 days, with a hundred thousand runs in the workspace.

The runs lie evenly over these days. The first page reads all of them; those of the next minute are
read from the cache.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

from django.core.cache import cache

from agents.reads.health import SPANS
from tests.bench import bulk, flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row
from tests.bench.flow import Job
from tests.bench.said import say
from tests.bench.workloads import SOLO
from tests.clients import Client
from tests.web.people import member

if TYPE_CHECKING:
    from tests.bench.plan import Plan

PAGE_MS = 200.0
ROUNDS = 15
GIVE_UP_SECONDS = 60.0
DAYS = SPANS["30d"].days


def measure(plan: Plan) -> Row:
    """Its row."""
    say(f"HEALTH: {plan.health_runs} runs in {DAYS} days")
    with Crew(Posts()) as crew:
        [run] = crew.flow.at_once([Job(SOLO, "Hello.")])
        flow.wait_ended([run], seconds=GIVE_UP_SECONDS)
        bulk.spread(run, count=plan.health_runs, days=DAYS)
        bulk.settle()
        client = Client(headers={"host": "localhost"})
        client.force_login(
            member(crew.workspace), backend="django.contrib.auth.backends.ModelBackend"
        )
        page = f"/w/{crew.workspace.slug}/health/?range=30d"
        _page(client, page)  # imports the views
        first = [_first_page(client, page) for _ in range(ROUNDS)]
        following = [_page(client, page) for _ in range(ROUNDS)]
        bulk.remove(crew.workspace.pk)
    figures = (
        Figure("first page, p50", statistics.median(first), target=PAGE_MS),
        Figure("following page, p50", statistics.median(following), target=PAGE_MS),
    )
    return Row("HEALTH", "member", figures, {"runs": plan.health_runs})


def _first_page(client: Client, page: str) -> float:
    cache.clear()
    return _page(client, page)


def _page(client: Client, page: str) -> float:
    began = time.perf_counter()
    answer: Any = client.get(page)
    taken = (time.perf_counter() - began) * 1000
    if answer.status_code != 200:
        raise RuntimeError(f"the page answered {answer.status_code}")
    return taken
