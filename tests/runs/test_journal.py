"""The journal's SQL functions on the real database: leases, fences, joins, cancels, expiry."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.db import DatabaseError, connection

from agents.actions.runs import cancel_run
from agents.choices import Placement, RunStatus
from agents.errors import AgentNotFoundError, EmptyTaskError, LeaseLostError
from agents.journal.events import (
    CallWaiting,
    CancelRequested,
    RunCancelled,
    RunSucceeded,
    ToolFinished,
    ToolStarted,
    WaitResolved,
)
from agents.llm.messages import ToolCall
from agents.loop.ports import Committed, Conflict, PendingSuspension
from agents.models import Agent, BlackboardEntry, Run, RunEvent, Wait
from agents.models import ToolCall as ToolCallRow
from agents.runs.claims import Claimant, ClaimedRun, claim
from heartbit_site.base import orm
from heartbit_site.base.models import UsageEntry, Workspace
from heartbit_site.base.suspensions import ChildTask, Suspension
from tests.runs.holding import accept, answer, claimant, fetch, hold, pool, suspended_on
from tests.starts import start_run

__all__ = ["claimant", "pool"]

if TYPE_CHECKING:
    from uuid import UUID

    from agents.runs.pool import Pool


async def statuses(run_id: UUID) -> dict[str, str]:
    """Return the status of each of a run's calls."""
    rows = ToolCallRow.objects.filter(run_id=run_id).values_list("call_id", "status")
    return await orm.run_in_thread(lambda: dict(rows))


class TestAccepting:
    def test_the_row_and_its_first_event_are_one(self, workspace: Workspace) -> None:
        run = Run.objects.get(pk=accept(workspace))
        assert (run.status, run.last_seq, run.root_id) == (RunStatus.QUEUED, 1, run.pk)
        assert [event.type for event in run.events.all()] == ["run.created"]

    def test_an_idempotency_key_gives_the_same_run(self, workspace: Workspace) -> None:
        first = start_run(workspace, "Do it.", home=Placement.LOCAL, idempotency_key="k")
        assert start_run(workspace, "Again.", home=Placement.LOCAL, idempotency_key="k") == first
        assert Run.objects.filter(workspace=workspace).count() == 1

    def test_an_empty_task_is_refused_in_one_sentence(self, workspace: Workspace) -> None:
        with pytest.raises(EmptyTaskError, match="The task is empty"):
            start_run(workspace, " \t\n")

    def test_an_unknown_agent_is_refused_with_the_closest_name(self, workspace: Workspace) -> None:
        with pytest.raises(AgentNotFoundError, match="did you mean researcher"):
            start_run(workspace, "Do it.", agent="reasercher")
        assert not Run.objects.filter(workspace=workspace).exists()


class TestClaiming:
    async def test_of_racing_claimers_one_wins(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        run_id = await orm.run_in_thread(lambda: accept(workspace))
        claims = [claim(pool, claimant, run_id, task_id=str(n)) for n in range(8)]
        won = [
            claimed for claimed in await asyncio.gather(*claims) if isinstance(claimed, ClaimedRun)
        ]
        assert [claimed.id for claimed in won] == [run_id]
        assert [recorded.event.type for recorded in won[0].history()] == [
            "run.created",
            "run.started",
        ]

    async def test_the_default_model_is_settled_at_the_first_claim(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        claimed, lease = await hold(
            pool, claimant, await orm.run_in_thread(lambda: accept(workspace))
        )
        assert claimed.model == "openai:fake"
        await lease.release("test")
        other = Claimant(claimant.worker_id, "test:2", Placement.LOCAL, (), "anthropic:other")
        again, _ = await hold(pool, other, claimed.id)
        assert again.model == "openai:fake"


class TestFencing:
    async def test_a_lost_lease_can_write_nothing(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        run_id = await orm.run_in_thread(lambda: accept(workspace))
        _, stale = await hold(pool, claimant, run_id)
        await stale.release("test")
        await hold(pool, claimant, run_id)
        with pytest.raises(LeaseLostError):
            await stale.record(answer(1))
        with pytest.raises(LeaseLostError):
            await stale.finish(RunSucceeded("done"))
        with pytest.raises(LeaseLostError):
            await stale.suspend(
                PendingSuspension("1.0", Suspension((ChildTask("writer", "x"),), 1))
            )
        assert not await stale.release("again")
        assert (await fetch(run_id)).last_seq == 4

    async def test_a_finish_waits_for_what_was_not_folded(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        run_id = await orm.run_in_thread(lambda: accept(workspace))
        _, lease = await hold(pool, claimant, run_id)
        await orm.run_in_thread(lambda: cancel_run(workspace, run_id, reason="changed my mind"))
        moved = await lease.finish(RunSucceeded("done"))
        assert isinstance(moved, Conflict)
        assert [recorded.event for recorded in moved.tail] == [CancelRequested("changed my mind")]
        assert (await fetch(run_id)).status == RunStatus.RUNNING
        assert isinstance(await lease.finish(RunSucceeded("done")), Committed)


class TestProjection:
    async def test_calls_usage_and_tokens_follow_the_events(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        run_id = await orm.run_in_thread(lambda: accept(workspace))
        _, lease = await hold(pool, claimant, run_id)
        call = ToolCall("provider-1", "calculate", '{"expression": "1+1"}')
        await lease.record(answer(1, call, call))
        await lease.record(ToolFinished("1.0", "ok", "2", "pure", 3))
        rows = await orm.run_in_thread(lambda: list(ToolCallRow.objects.filter(run_id=run_id)))
        assert [(row.call_id, row.status, row.result) for row in rows] == [
            ("1.0", "ok", "2"),
            ("1.1", "pending", None),
        ]
        assert rows[0].idempotency_key == f"{run_id}:1.0"
        entry = await orm.run_in_thread(lambda: UsageEntry.objects.get(run_id=run_id))
        assert (entry.input_tokens, entry.output_tokens, str(entry.cost_usd)) == (
            7,
            3,
            "0.25000000",
        )
        run = await fetch(run_id)
        assert (run.input_tokens, run.output_tokens) == (7, 3)

    async def test_a_call_s_events_change_its_row_alone(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        other, mine = [await orm.run_in_thread(lambda: accept(workspace)) for _ in range(2)]
        for run_id in (other, mine):
            _, lease = await hold(pool, claimant, run_id)
            await lease.record(answer(1, *(ToolCall(id, "clock", "{}") for id in "ab")))
        await lease.record(ToolStarted("1.0", "pure"))
        assert await statuses(mine) == {"1.0": "started", "1.1": "pending"}
        await lease.record(ToolFinished("1.0", "ok", "Noon.", "pure"))
        assert await statuses(mine) == {"1.0": "ok", "1.1": "pending"}
        assert await statuses(other) == {"1.0": "pending", "1.1": "pending"}


class TestJoining:
    async def test_the_last_child_queues_the_parent_once(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        parent = await orm.run_in_thread(lambda: accept(workspace))
        children = await suspended_on(pool, claimant, parent, ["researcher", "writer"])
        assert (await fetch(parent)).status == RunStatus.WAITING
        leases = [(await hold(pool, claimant, child))[1] for child in children]
        await asyncio.gather(*(lease.finish(RunSucceeded("part")) for lease in leases))
        rung = [lease.ring.id for lease in leases if lease.ring is not None]
        assert rung == [parent]
        claimed, _ = await hold(pool, claimant, parent)
        kinds = [type(recorded.event) for recorded in claimed.history()]
        assert kinds.count(WaitResolved) == 2
        assert kinds.count(CallWaiting) == 1
        entries = await orm.run_in_thread(
            lambda: list(BlackboardEntry.objects.filter(root_id=parent))
        )
        assert [(e.key, e.value) for e in entries] == [
            ("agent:researcher", "part"),
            ("agent:writer", "part"),
        ]

    async def test_a_deleted_agent_is_a_sentence_and_writes_nothing(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        parent = await orm.run_in_thread(lambda: accept(workspace))
        writer = Agent.objects.filter(workspace=workspace, name="writer")
        await orm.run_in_thread(lambda: writer.update(current_version=None))
        with pytest.raises(AgentNotFoundError, match="agent writer is gone or stopped"):
            await suspended_on(pool, claimant, parent, ["researcher", "writer"])
        assert await orm.run_in_thread(lambda: Run.objects.filter(parent_id=parent).count()) == 0
        assert (await fetch(parent)).status == RunStatus.RUNNING

    async def test_an_expired_wait_cancels_the_child_and_queues_the_parent(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        parent = await orm.run_in_thread(lambda: accept(workspace))
        (child,) = await suspended_on(pool, claimant, parent, ["writer"], timeout=0)
        async with pool.connection() as conn:
            await conn.execute("SELECT heartbit_expire_waits(100)")
        assert (await fetch(parent)).status == RunStatus.QUEUED
        assert (await fetch(child)).status == RunStatus.CANCELLED
        wait = await orm.run_in_thread(lambda: Wait.objects.get(run_id=parent))
        assert wait.value is not None
        assert wait.value["status"] == "expired"


class TestCancelling:
    async def test_it_cascades_and_voids_the_waits(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        parent = await orm.run_in_thread(lambda: accept(workspace))
        queued, running = await suspended_on(pool, claimant, parent, ["researcher", "writer"])
        _, lease = await hold(pool, claimant, running)
        await orm.run_in_thread(lambda: cancel_run(workspace, parent, reason="stop"))
        assert (await fetch(parent)).status == RunStatus.CANCELLED
        assert (await fetch(queued)).status == RunStatus.CANCELLED
        assert (await fetch(running)).cancel_requested
        assert isinstance(await lease.finish(RunSucceeded("late")), Conflict)
        assert isinstance(await lease.finish(RunSucceeded("late")), Committed)
        assert lease.ring is None, "a wait of a terminal run never queues it"
        assert (await fetch(parent)).status == RunStatus.CANCELLED

    async def test_what_it_had_said_is_its_output(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        run_id = await orm.run_in_thread(lambda: accept(workspace))
        _, lease = await hold(pool, claimant, run_id)
        await lease.finish(RunCancelled("enough", partial="So far."))
        assert (await fetch(run_id)).output == "So far."

    async def test_a_run_that_has_ended_stays_as_it_is(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        run_id = await orm.run_in_thread(lambda: accept(workspace))
        _, lease = await hold(pool, claimant, run_id)
        await lease.finish(RunSucceeded("done"))
        await orm.run_in_thread(lambda: cancel_run(workspace, run_id, reason="late"))
        run = await fetch(run_id)
        assert (run.status, run.last_seq) == (RunStatus.SUCCEEDED, 3)


class TestTheDatabasesOwnRules:
    @pytest.mark.parametrize("status", ["succeeded", "waiting"])
    def test_it_refuses_a_transition_outside_the_table(
        self, workspace: Workspace, status: str
    ) -> None:
        run_id = accept(workspace)
        with pytest.raises(DatabaseError, match=f"cannot go from queued to {status}"):
            Run.objects.filter(pk=run_id).update(status=status, open_waits=1)

    def test_the_journal_is_append_only(self, workspace: Workspace) -> None:
        run_id = accept(workspace)
        with pytest.raises(DatabaseError, match="append-only"):
            RunEvent.objects.filter(run_id=run_id).update(type="run.succeeded")

    def test_two_events_cannot_have_one_seq(self, workspace: Workspace) -> None:
        run_id = accept(workspace)
        with pytest.raises(DatabaseError, match="duplicate key"), connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO agents_runevent (run_id, seq, type, payload)"
                " VALUES (%s, 1, 'x', '{}')",
                [run_id],
            )

    async def test_errors_carry_our_codes(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        run_id = await orm.run_in_thread(lambda: accept(workspace))
        async with pool.connection() as conn:
            with pytest.raises(psycopg.Error) as caught:
                await conn.execute("SELECT heartbit_record(%s, 99, 0, '[]')", (run_id,))
        assert caught.value.sqlstate == "HB001"
