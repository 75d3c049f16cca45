"""DASHBOARD: the admin's first page of a member, with a hundred thousand runs in the workspace.

The runs lie evenly over the fourteen days that the page shows. The first page counts all of them,
and so does one after five minutes; pages between count today's alone.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

from django.core.cache import cache

from agents.admin.statistics import DAYS
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


def measure(plan: Plan) -> Row:
    """Its row."""
    say(f"DASHBOARD: {plan.dashboard_runs} runs in {DAYS} days")
    with Crew(Posts()) as crew:
        [run] = crew.flow.at_once([Job(SOLO, "Hello.")])
        flow.wait_ended([run], seconds=GIVE_UP_SECONDS)
        bulk.spread(run, count=plan.dashboard_runs, days=DAYS)
        bulk.settle()
        client = Client(headers={"host": "localhost"})
        client.force_login(
            member(crew.workspace), backend="django.contrib.auth.backends.ModelBackend"
        )
        _page(client)  # imports the admin
        first = [_first_page(client) for _ in range(ROUNDS)]
        following = [_page(client) for _ in range(ROUNDS)]
        bulk.remove(crew.workspace.pk)
    figures = (
        Figure("first page, p50", statistics.median(first), target=PAGE_MS),
        Figure("following page, p50", statistics.median(following), target=PAGE_MS),
    )
    return Row("DASHBOARD", "member", figures, {"runs": plan.dashboard_runs})


def _first_page(client: Client) -> float:
    cache.clear()
    return _page(client)


def _page(client: Client) -> float:
    began = time.perf_counter()
    answer: Any = client.get("/admin/")
    taken = (time.perf_counter() - began) * 1000
    if answer.status_code != 200 or "dashboard" not in answer.context_data:
        raise RuntimeError(f"the dashboard answered {answer.status_code}")
    return taken
