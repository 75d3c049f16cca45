"""Rows that lists and figures read when there are many finished runs: few, of all of them."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.housekeeping.roll_up import roll_up
from agents.models import Agent, Run
from agents.querysets import find_run
from agents.reads.agent_status import agents_with_metrics, statuses
from agents.reads.health import MOST_FAILED, SPANS, read_health
from agents.reads.workflow_statistics import read_statistics
from heartbit_site.base.access import Access
from heartbit_site.base.query import execute, fetch_all
from heartbit_site.operations.run_reads import list_runs
from heartbit_site.operations.run_search import NEAR, SORTED
from tests.health.filled import fill

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace

MANY = 60_000
FEW = 3_000
BIG = {"agents_run", "base_usageentry"}


def read(work: Callable[[], object]) -> int:
    """Rows of runs and of the ledger that the queries of some work look at."""
    with CaptureQueriesContext(connection) as queries:
        work()
    found = 0
    for query in queries:
        if query["sql"].lstrip().startswith(("SELECT", "WITH")):
            explained = "EXPLAIN (ANALYZE, FORMAT JSON) " + query["sql"].replace("%", "%%")
            [(plan,)] = fetch_all(explained, [])
            found += rows_of((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
    return found


def rows_of(node: dict[str, Any]) -> int:
    """Rows that the scans of a plan have returned or left out."""
    found = sum(rows_of(child) for child in node.get("Plans", ()))
    if node.get("Relation Name") in BIG:
        left_out = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
        each = node["Actual Rows"] + sum(node.get(name, 0) for name in left_out)
        found += int(each * node["Actual Loops"])
    return found


@pytest.fixture
def access(workspace: Workspace) -> Access:
    """Return a reader of a workspace with many runs, five of them of another agent."""
    version = Agent.objects.get(workspace=workspace, name="writer").current_version
    assert version is not None
    fill(workspace, version, MANY)
    rare = list(Run.objects.filter(workspace=workspace).order_by("created_at").values("pk")[:5])
    Run.objects.filter(pk__in=[row["pk"] for row in rare]).update(agent="rare")
    # As autovacuum does; with old figures of versions, the planner joins by walking all runs.
    execute("ANALYZE agents_run, agents_agentversion, agents_agent")
    return Access(workspace, "ada", "web", frozenset({"runs:read"}), None)


@pytest.mark.django_db
def test_given_many_runs_then_a_list_of_few_of_them_reads_few(access: Access) -> None:
    month_ago = timezone.now() - timedelta(days=29)
    given: dict[str, dict[str, Any]] = {
        "all": {},
        "words that all have": {"text": "what is"},
        "words that none has": {"text": "zeppelin"},
        "an agent with few": {"agent": "rare"},
        "a deleted agent": {"agent": "gone"},
        "no run in the state": {"status": "queued"},
        "none that was cancelled": {"status": "cancelled"},
        "long ago": {"until": month_ago},
    }
    found = {name: read(partial(list_runs, access, **one)) for name, one in given.items()}
    words = found.pop("words that none has")
    assert words < NEAR + FEW
    assert {name: rows for name, rows in found.items() if rows > FEW} == {}
    oldest = Run.objects.filter(workspace=access.workspace).order_by("created_at")[:1].get()
    assert read(partial(find_run, access, str(oldest.pk))) <= 1
    assert read(partial(find_run, access, str(oldest.pk)[:18])) < FEW
    by_cost = read(lambda: list_runs(access, sort="-cost"))
    assert by_cost < 2 * SORTED + FEW
    assert read(lambda: list_runs(access, sort="-cost", text="what is")) < 2 * FEW


@pytest.mark.django_db
def test_given_spans_with_rows_then_figures_of_agents_and_workflows_read_few_runs(
    access: Access,
) -> None:
    version = Agent.objects.get(workspace=access.workspace, name="writer").current_version
    assert version is not None
    fill(access.workspace, version, MANY, days=0.5)
    roll_up(timezone.now())
    names = ["writer", "analyst"]
    assert read(lambda: statuses(access.workspace, names=names)) < FEW
    assert read(lambda: agents_with_metrics(access.workspace)) < FEW
    assert read(lambda: read_statistics(access.workspace)) < FEW
    for span in SPANS.values():
        rows = read(partial(read_health, access.workspace.pk, span, timezone.now()))
        assert rows < 2 * FEW + MOST_FAILED
