"""Whose fault a worker's death is: attempts, suspects, quarantine, and the way out of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from django.db import DatabaseError, connection
from django.db.models.functions import Now

from agents.choices import Placement, RunStatus
from agents.journal.events import RunSucceeded, ToolStarted
from agents.llm.messages import ToolCall
from agents.models import Run, WorkerHeartbeat
from agents.models import ToolCall as ToolCallRow
from agents.runs.claims import ClaimedRun, SuspectRun, claim
from heartbit_site.base import orm
from tests.runs.holding import accept, answer, claimant, fetch, hold, pool, suspended_on

__all__ = ["claimant", "pool"]

if TYPE_CHECKING:
    from uuid import UUID

    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace


@pytest.fixture
async def run_id(workspace: Workspace, pool: Pool) -> UUID:
    return await orm.run_in_thread(partial(accept, workspace))


def worker(claimant: Claimant, *, queues: tuple[str, ...] = ()) -> Claimant:
    """Another process."""
    row = WorkerHeartbeat.objects.create(
        name="mortal:1", home=claimant.home, lease_seconds=3600, queues=list(queues)
    )
    return replace(claimant, worker_id=row.pk, worker_name=row.name)


def die(worker_id: int, *, max_attempts: int = 3) -> list[tuple[UUID | None, UUID | None]]:
    """What the sweeper does about it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM heartbit_recover(%s, %s)", [worker_id, max_attempts])
        return list(cursor.fetchall())


async def death(pool: Pool, claimant: Claimant, *runs: UUID, **how: int) -> None:
    """A worker claims these runs and dies."""
    mortal = await orm.run_in_thread(partial(worker, claimant))
    for each in runs:
        await hold(pool, mortal, each)
    await orm.run_in_thread(partial(die, mortal.worker_id, **how))


async def test_deaths_count_until_there_is_progress(
    pool: Pool, claimant: Claimant, run_id: UUID
) -> None:
    for expected in (1, 2):
        await death(pool, claimant, run_id)
        run = await fetch(run_id)
        assert (run.status, run.crashes) == (RunStatus.QUEUED, expected)
    _, lease = await hold(pool, claimant, run_id)
    await lease.record(answer(1, ToolCall("c", "calculate", "{}")))
    assert (await fetch(run_id)).crashes == 0
    await orm.run_in_thread(partial(die, claimant.worker_id))
    assert (await fetch(run_id)).crashes == 1, "the first death since it has got further"


async def test_an_intent_is_no_progress(pool: Pool, claimant: Claimant, run_id: UUID) -> None:
    mortal = await orm.run_in_thread(partial(worker, claimant))
    _, lease = await hold(pool, mortal, run_id)
    await lease.record(answer(1, ToolCall("c", "store_item", "{}")))
    await lease.release("drain")
    again = await orm.run_in_thread(partial(worker, claimant))
    _, lease = await hold(pool, again, run_id)
    await lease.record(ToolStarted("1.0", "idempotent"))
    await orm.run_in_thread(partial(die, again.worker_id))
    assert (await fetch(run_id)).crashes == 1


async def test_an_intent_forgives_no_death(pool: Pool, claimant: Claimant, run_id: UUID) -> None:
    _, lease = await hold(pool, claimant, run_id)
    await lease.record(answer(1, ToolCall("c", "store_item", "{}")))
    await orm.run_in_thread(partial(die, claimant.worker_id))
    again = await orm.run_in_thread(partial(worker, claimant))
    _, lease = await hold(pool, again, run_id)
    await lease.record(ToolStarted("1.0", "at_most_once"))
    assert (await fetch(run_id)).crashes == 1


async def test_a_worker_that_left_by_itself_blames_nobody(
    pool: Pool, claimant: Claimant, run_id: UUID
) -> None:
    mortal = await orm.run_in_thread(partial(worker, claimant))
    await hold(pool, mortal, run_id)
    left = WorkerHeartbeat.objects.filter(pk=mortal.worker_id)
    await orm.run_in_thread(partial(left.update, left_at=Now()))
    await orm.run_in_thread(partial(die, mortal.worker_id, max_attempts=1))
    run = await fetch(run_id)
    assert (run.status, run.crashes) == (RunStatus.QUEUED, 0)


async def calls(pool: Pool, claimant: Claimant, run_id: UUID) -> None:
    """Bring a run to where a call of a tool is open; nobody works on it."""
    _, lease = await hold(pool, await orm.run_in_thread(partial(worker, claimant)), run_id)
    await lease.record(answer(1, ToolCall("c", "calculate", "{}")))
    await lease.release("drain")


async def test_a_suspect_is_told_to_whoever_is_rung_and_taken_by_one_who_is_alone(
    pool: Pool, claimant: Claimant, run_id: UUID
) -> None:
    await calls(pool, claimant, run_id)
    for _ in range(2):
        await death(pool, claimant, run_id)
    shared = replace(claimant, alone=False)
    assert await claim(pool, shared, run_id, task_id="") == SuspectRun(run_id)
    assert isinstance(await claim(pool, claimant, run_id, task_id=""), ClaimedRun)


@pytest.mark.parametrize(("deaths", "suspected"), [(3, False), (4, True)])
async def test_a_run_that_waits_for_its_model_is_suspected_later(
    workspace: Workspace,
    pool: Pool,
    claimant: Claimant,
    run_id: UUID,
    *,
    deaths: int,
    suspected: bool,
) -> None:
    neighbour = await orm.run_in_thread(partial(accept, workspace))
    for _ in range(deaths):
        await death(pool, claimant, run_id, neighbour)
    found = await claim(pool, replace(claimant, alone=False), run_id, task_id="")
    assert isinstance(found, SuspectRun if suspected else ClaimedRun)


async def test_only_a_run_that_dies_alone_is_quarantined(
    workspace: Workspace, pool: Pool, claimant: Claimant, run_id: UUID
) -> None:
    neighbour = await orm.run_in_thread(partial(accept, workspace))
    for _ in range(4):
        await death(pool, claimant, run_id, neighbour)
    assert (await fetch(run_id)).status == (await fetch(neighbour)).status == RunStatus.QUEUED
    mortal = await orm.run_in_thread(partial(worker, claimant))
    await hold(pool, mortal, run_id)
    found = await orm.run_in_thread(partial(die, mortal.worker_id))
    assert found == [(None, run_id)], "whose sweeper raises the alarm"
    assert (await fetch(run_id)).status == RunStatus.QUARANTINED
    assert (await fetch(neighbour)).status == RunStatus.QUEUED


async def test_a_quarantined_child_is_told_to_its_parent(
    workspace: Workspace, pool: Pool, claimant: Claimant, run_id: UUID
) -> None:
    (child,) = await suspended_on(pool, claimant, run_id, ["writer"])
    await death(pool, claimant, child, max_attempts=1)
    assert (await fetch(child)).status == RunStatus.QUARANTINED
    assert (await fetch(run_id)).status == RunStatus.QUEUED
    with pytest.raises(DatabaseError, match="orchestrator has gone on"):
        await orm.run_in_thread(partial(_call, "SELECT heartbit_revive(%s, 'anna')", child))


async def test_a_revived_run_goes_on_where_it_was_alone(
    pool: Pool, claimant: Claimant, run_id: UUID
) -> None:
    mortal = await orm.run_in_thread(partial(worker, claimant))
    _, lease = await hold(pool, mortal, run_id)
    await lease.record(answer(1, ToolCall("c", "calculate", "{}")))
    await lease.release("drain")
    await death(pool, claimant, run_id, max_attempts=1)
    run = await fetch(run_id)
    assert [call.status for call in await _calls(run)] == ["cancelled"]
    await orm.run_in_thread(partial(_call, "SELECT heartbit_revive(%s, 'anna')", run_id))
    run = await fetch(run_id)
    assert (run.status, run.finished_at, run.error) == (RunStatus.QUEUED, None, None)
    assert [call.status for call in await _calls(run)] == ["pending"]
    shared = replace(claimant, alone=False)
    assert await claim(pool, shared, run_id, task_id="") == SuspectRun(run_id)
    _, lease = await hold(pool, claimant, run_id)
    await lease.finish(RunSucceeded("done"))
    assert (await fetch(run_id)).status == RunStatus.SUCCEEDED


async def test_a_discarded_run_is_over(pool: Pool, claimant: Claimant, run_id: UUID) -> None:
    await death(pool, claimant, run_id, max_attempts=1)
    await orm.run_in_thread(partial(_call, "SELECT heartbit_discard(%s, 'anna')", run_id))
    assert (await fetch(run_id)).status == RunStatus.CANCELLED
    with pytest.raises(DatabaseError, match="not in quarantine: it has cancelled"):
        await orm.run_in_thread(partial(_call, "SELECT heartbit_revive(%s, 'anna')", run_id))


async def test_a_dead_workers_doorbells_count_as_lost(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    def doorbell() -> tuple[Run, int]:
        run = Run.objects.get(pk=accept(workspace))
        Run.objects.filter(pk=run.pk).update(home=Placement.FLEET, woken_at=Now())
        run.refresh_from_db()
        mortal = worker(replace(claimant, home=Placement.FLEET), queues=(run.queue,))
        return run, mortal.worker_id

    run, worker_id = await orm.run_in_thread(doorbell)
    await orm.run_in_thread(partial(die, worker_id))
    # Lost, or already sent once more by a live worker's sweeper.
    assert (await fetch(run.pk)).woken_at != run.woken_at


def _call(query: str, run_id: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query, [run_id])


async def _calls(run: Run) -> list[ToolCallRow]:
    return await orm.run_in_thread(lambda: list(run.calls.all()))
