"""A run continues while some of its waits are open, and ends together with what it waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agents.actions.run_request import start_conversation
from agents.choices import RunStatus
from agents.journal.events import RunSucceeded, WaitResolved
from agents.loop.ports import Committed, PendingChildren
from agents.models import Run
from heartbit_site.base import orm
from heartbit_site.base.ids import new_id
from heartbit_site.base.suspensions import ChildTask
from tests.runs.holding import accept, claimant, fetch, hold, pool

if TYPE_CHECKING:
    from uuid import UUID

    from agents.runs.claims import Claimant
    from agents.runs.lease import Lease
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace

__all__ = ["claimant", "pool"]
PART = ChildTask("writer", "Part.")


async def ask(lease: Lease, *children: ChildTask, wake_at: int = 0) -> list[UUID]:
    ids = [new_id() for _ in children]
    tasks = tuple(replace(child, run_id=one) for child, one in zip(children, ids, strict=True))
    assert isinstance(await lease.suspend(PendingChildren(tasks), wake_at=wake_at), Committed)
    return ids


async def end(pool: Pool, claimant: Claimant, run_id: UUID, output: str = "done") -> None:
    _, lease = await hold(pool, claimant, run_id)
    assert isinstance(await lease.finish(RunSucceeded(output)), Committed)


async def test_it_is_queued_when_as_few_are_open_as_it_wakes_at(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, run_id)
    first, second, third = await ask(lease, PART, PART, PART, wake_at=1)

    await end(pool, claimant, first)
    assert (await fetch(run_id)).status == RunStatus.WAITING
    await end(pool, claimant, second)
    run = await fetch(run_id)
    assert (run.status, run.open_waits) == (RunStatus.QUEUED, 1)

    _, lease = await hold(pool, claimant, run_id)
    [fourth] = await ask(lease, PART)
    assert (await fetch(run_id)).open_waits == 2
    await end(pool, claimant, fourth)
    assert (await fetch(run_id)).status == RunStatus.WAITING
    await end(pool, claimant, third)
    run = await fetch(run_id)
    assert (run.status, run.open_waits) == (RunStatus.QUEUED, 0)


async def test_what_ends_while_it_works_is_in_its_journal(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, run_id)
    first, second = await ask(lease, PART, PART, wake_at=1)
    await end(pool, claimant, first)
    _, lease = await hold(pool, claimant, run_id)
    await end(pool, claimant, second)

    [ended] = await lease.record()
    assert isinstance(ended.event, WaitResolved)
    run = await fetch(run_id)
    assert (run.status, run.open_waits) == (RunStatus.RUNNING, 0)


async def test_its_end_cancels_the_children_that_still_run(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, run_id)
    first, queued, held = await ask(lease, PART, PART, PART, wake_at=2)
    await hold(pool, claimant, held)
    await end(pool, claimant, first)
    _, lease = await hold(pool, claimant, run_id)

    assert isinstance(await lease.finish(RunSucceeded("enough")), Committed)
    assert (await fetch(queued)).status == RunStatus.CANCELLED
    running = await fetch(held)
    assert (running.status, running.cancel_requested) == (RunStatus.RUNNING, True)
    run = await fetch(run_id)
    assert (run.status, run.open_waits) == (RunStatus.SUCCEEDED, 0)


async def test_a_child_continues_the_conversation_that_it_is_given(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    thread = await orm.run_in_thread(lambda: start_conversation(workspace, agent="writer"))
    says = ChildTask("writer", "Hello.", conversation=thread.pk)
    _, lease = await hold(pool, claimant, run_id)
    [first] = await ask(lease, says)
    await end(pool, claimant, first, "Good day.")
    _, lease = await hold(pool, claimant, run_id)
    [second] = await ask(lease, says)

    claimed, _ = await hold(pool, claimant, second)
    assert [(one["task"], one["output"]) for one in claimed.thread] == [("Hello.", "Good day.")]
    assert await orm.run_in_thread(lambda: Run.objects.filter(conversation=thread).count()) == 2
