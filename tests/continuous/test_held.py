"""A run that a test holds stays with it, however long the tests last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db.models.functions import Now

from agents.models import Agent, Run, WorkerHeartbeat
from tests.admin.rows import MODEL, Held, holder
from tests.runtime.test_judging import is_gone, session, sweeper
from tests.starts import start_run

if TYPE_CHECKING:
    import psycopg

    from heartbit_site.base.models import Workspace

__all__ = ["session"]


@pytest.fixture(autouse=True)
def parked(workspace: Workspace) -> None:
    """No worker of the tests takes a run before `Held` does."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")


def test_given_two_leases_since_the_database_started_when_others_sweep_then_a_run_is_still_held(
    workspace: Workspace, session: psycopg.Connection[dict[str, Any]]
) -> None:
    held = Held(start_run(workspace, "Hold it.", model=MODEL))
    worker = Run.objects.get(pk=held.id).worker_id
    assert worker is not None
    judge = sweeper(steady=False, ring=None)
    # The lease, instead of the hours, and seen by this transaction alone.
    session.execute(
        "UPDATE agents_workerheartbeat SET lease_seconds = 0.001 WHERE id = %s", (worker,)
    )
    for _ in range(3):
        judge.sweep(session)
    assert not is_gone(session, worker)


def test_given_a_holder_that_a_test_declared_dead_then_another_holds_the_next_run(
    workspace: Workspace,
) -> None:
    before = holder()[0]
    WorkerHeartbeat.objects.filter(pk=before).update(left_at=Now())
    held = Held(start_run(workspace, "Hold it.", model=MODEL))
    assert Run.objects.get(pk=held.id).worker_id != before
