"""Who goes on with a run: its living process, the fleet, or whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from agents.actions.runs import cancel_run, resume_run
from agents.choices import Placement
from agents.errors import RunStateError
from agents.models import Agent, Run, WorkerHeartbeat
from agents.runtime.recovery.control_session import LOCK_CLASS
from heartbit_site.base import orm
from tests.runs.holding import accept, claimant, hold, pool, suspended_on
from tests.starts import start_run

__all__ = ["claimant", "pool"]

if TYPE_CHECKING:
    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace


def test_a_run_that_nobody_began_is_whoevers_asks(workspace: Workspace) -> None:
    run = Run.objects.get(pk=accept(workspace))
    found = resume_run(run)
    assert (found.root_id, found.takes_over, found.executor) == (run.pk, True, "")


def test_a_run_of_the_fleet_is_left_to_it(workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="served-by-no-worker")
    run_id = start_run(workspace, "Do it.", agent="writer", home=Placement.FLEET)
    found = resume_run(Run.objects.get(pk=run_id))
    assert (found.takes_over, found.executor) == (False, "")


def test_a_run_that_has_ended_is_refused(workspace: Workspace) -> None:
    run_id = accept(workspace)
    cancel_run(workspace, run_id, reason="no")
    with pytest.raises(RunStateError, match="cancelled already"):
        resume_run(Run.objects.get(pk=run_id))


async def test_a_local_run_is_its_process_s_as_long_as_that_lives(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    [child] = await suspended_on(pool, claimant, run_id, ["writer"])
    await hold(pool, claimant, child)

    def look() -> tuple[bool, str]:
        found = resume_run(Run.objects.select_related("root").get(pk=child))
        assert found.root_id == run_id, "the whole tree goes on"
        return found.takes_over, found.executor

    assert await orm.run_in_thread(look) == (True, ""), "nobody holds its lock"
    async with await psycopg.AsyncConnection.connect(
        settings.DATABASE_DIRECT_URL, autocommit=True
    ) as alive:
        await alive.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK_CLASS, claimant.worker_id))
        assert await orm.run_in_thread(look) == (False, claimant.worker_name)

        def fall_silent() -> None:
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE agents_workerheartbeat SET beat_at = now() - interval '2 h'"
                    " WHERE id = %s",
                    [claimant.worker_id],
                )

        await orm.run_in_thread(fall_silent)
        assert await orm.run_in_thread(look) == (True, ""), "silent for longer than its lease"
    await orm.run_in_thread(WorkerHeartbeat.objects.filter(pk=claimant.worker_id).delete)
