"""Figures of a workspace: right, grouped, and cheap."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.models import Agent
from agents.reads.health import SPANS, read_health
from heartbit_site.base.query import fetch_one
from tests.health.filled import fill

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

#: Seconds of a processor for a span of 100,000 runs in 30 days, with room for a busy one.
SECONDS = {"1h": 0.05, "24h": 0.1, "7d": 0.25, "30d": 0.5}
ROUNDS = 4


def filled(workspace: Workspace, count: int) -> None:
    version = Agent.objects.get(workspace=workspace, name="writer").current_version
    assert version is not None
    fill(workspace, version, count)


@pytest.mark.django_db
def test_given_runs_then_their_figures_errors_and_costs_are_added_up(workspace: Workspace) -> None:
    filled(workspace, 2_000)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = read_health(workspace.pk, SPANS["30d"], timezone.now())
    assert len(queries) == 2
    assert found.figures["runs"] == 2_000
    assert found.figures["failures"] == 100
    assert found.figures["failure_rate"] == 5
    assert found.figures["cost"] == pytest.approx(2)
    assert 0.4 < (found.figures["queue_delay_p50"] or 0) < 0.6
    [error] = found.errors
    assert error.sentence == "The provider answered … after … s for …"
    assert (error.runs, len(error.latest)) == (100, 3)
    assert error.first is not None
    assert error.last is not None
    assert error.first < error.last
    assert len(found.pairs) == 24
    assert sum(one.runs for one in found.pairs) == sum(one.calls for one in found.pairs) == 2_000
    hour = read_health(workspace.pk, SPANS["1h"], timezone.now())
    assert 0 < (hour.figures["runs"] or 0) < 5


@pytest.mark.django_db
def test_given_no_runs_then_there_is_nothing_to_measure(workspace: Workspace) -> None:
    found = read_health(workspace.pk, SPANS["24h"], timezone.now())
    assert (found.errors, found.pairs) == ([], [])
    assert found.figures["queue_delay_p95"] is None
    assert found.figures["failure_rate"] is None
    assert found.figures["runs"] == 0


@pytest.mark.django_db
@pytest.mark.parametrize("span", SPANS)
def test_given_a_hundred_thousand_runs_then_few_seconds_of_the_database_are_taken(
    workspace: Workspace, span: str
) -> None:
    filled(workspace, 100_000)
    begun = worked()
    for _ in range(ROUNDS):
        read_health(workspace.pk, SPANS[span], timezone.now())
    assert (worked() - begun) / ROUNDS < SECONDS[span]


def worked() -> float:
    """Seconds that the test's database process has worked: other tests do not lengthen them."""
    (process,) = fetch_one("SELECT pg_backend_pid()")
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
