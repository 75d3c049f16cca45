"""Whose turn it is: no more at work than a tier allows, and no workspace starves another."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.utils import timezone

from agents.choices import RunStatus
from agents.journal.events import RunSucceeded
from agents.limits.pauses import blocked_reason
from agents.loop.ports import PendingSuspension
from agents.models import Agent, Run
from agents.runs.claims import Claimant, ClaimedRun, claim
from agents.runs.lease import Lease
from heartbit_site.base import orm
from heartbit_site.base.ids import new_id
from heartbit_site.base.suspensions import ChildTask, Suspension
from tests.quotas.limited import at_work, flood, give_tier, new_workspace, park, start
from tests.runs.holding import answer, pool

if TYPE_CHECKING:
    from uuid import UUID

    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace

__all__ = ["pool"]


async def nudge(pool: Pool, fleet: Claimant, run_id: UUID) -> ClaimedRun | None:
    """What the worker takes that was rung for a run."""
    found = await claim(pool, fleet, run_id, task_id="task")
    assert found is None or isinstance(found, ClaimedRun)
    return found


async def finish(pool: Pool, claimed: ClaimedRun) -> None:
    lease = Lease(pool, claimed, executor=orm.shared(), on_commit=lambda seq: None)
    await lease.finish(RunSucceeded("done"))


def unanswered(queue: str) -> list[Run]:
    """What a sweep rings, whenever it was rung last."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ring FROM heartbit_unanswered(%s, 100, -1)", [[queue]])
        ids = [row[0] for row in cursor.fetchall()]
    return list(Run.objects.filter(pk__in=ids))


class TestRunsAtOnce:
    @pytest.mark.parametrize("most", [3, None])
    async def test_given_a_run_that_is_not_due_when_it_is_rung_then_it_waits(
        self, most: int | None, mine: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=most))
        [run_id] = await orm.run_in_thread(lambda: start(mine))
        later = timezone.now() + timedelta(hours=1)
        await orm.run_in_thread(lambda: Run.objects.filter(pk=run_id).update(available_at=later))
        assert await nudge(pool, fleet, run_id) is None
        now = timezone.now()
        await orm.run_in_thread(lambda: Run.objects.filter(pk=run_id).update(available_at=now))
        claimed = await nudge(pool, fleet, run_id)
        assert claimed is not None
        await finish(pool, claimed)

    async def test_given_eight_claimers_then_no_more_are_at_work_than_the_tier_allows(
        self, mine: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=3))
        waiting = await orm.run_in_thread(lambda: start(mine, 40))
        seen: list[int] = []
        done: set[UUID] = set()

        async def worker() -> None:
            while len(done) < len(waiting):
                claimed = await nudge(pool, fleet, secrets.choice(waiting))
                seen.append(await orm.run_in_thread(lambda: at_work(mine)))
                if claimed is not None:
                    await finish(pool, claimed)
                    done.add(claimed.id)

        await asyncio.gather(*(worker() for _ in range(8)))
        assert max(seen) == 3, "never more, and as many as may be"
        assert len(done) == 40

    async def test_a_waiting_run_is_not_at_work_and_its_part_goes_before_other_runs(
        self, mine: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=1))
        (root,) = await orm.run_in_thread(lambda: start(mine, agent="orchestrator"))
        claimed = await nudge(pool, fleet, root)
        assert claimed is not None
        assert claimed.limited
        others = await orm.run_in_thread(lambda: start(mine, 10))
        assert await nudge(pool, fleet, others[0]) is None, "one is at work"
        lease = Lease(pool, claimed, executor=orm.shared(), on_commit=lambda seq: None)
        await lease.record(answer(1))
        part_of_it = Suspension((ChildTask("writer", "Part."),), 60)
        await lease.suspend(PendingSuspension("1.0", part_of_it))
        part = await nudge(pool, fleet, others[0])
        assert part is not None
        assert part.parent_id == root, "a tree that has begun ends before others begin"
        await finish(pool, part)
        again = await nudge(pool, fleet, others[3])
        assert again is not None
        assert again.id == root

    async def test_whoever_frees_a_slot_rings_the_next(
        self, mine: Workspace, pool: Pool, fleet: Claimant, queue: str
    ) -> None:
        await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=1))
        first, second, _ = await orm.run_in_thread(lambda: start(mine, 3))

        def next_rung() -> list[tuple[UUID, str]]:
            with connection.cursor() as cursor:
                cursor.execute("SELECT * FROM heartbit_ring_next(%s, %s)", [mine.pk, [queue]])
                return list(cursor.fetchall())

        claimed = await nudge(pool, fleet, first)
        assert claimed is not None
        assert await orm.run_in_thread(next_rung) == []
        await finish(pool, claimed)
        assert await orm.run_in_thread(next_rung) == [(second, queue)]

    async def test_a_sweep_rings_no_more_than_there_is_room_for(
        self, mine: Workspace, theirs: Workspace, pool: Pool, fleet: Claimant, queue: str
    ) -> None:
        tier = await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=2))
        waiting = await orm.run_in_thread(lambda: start(mine, 30))
        await orm.run_in_thread(lambda: start(theirs, 4))

        async def rung() -> tuple[int, int]:
            rows = await orm.run_in_thread(lambda: unanswered(queue))
            own = sum(run.workspace_id == mine.pk for run in rows)
            return own, len(rows) - own

        assert await rung() == (2, 4)
        claimed = [await nudge(pool, fleet, run) for run in waiting[:8]]
        assert await orm.run_in_thread(lambda: at_work(mine)) == 2
        assert await rung() == (0, 0), "the others' four are at work, too"
        assert sum(each is not None for each in claimed) == 6
        tier.runs_at_once = 3
        await orm.run_in_thread(tier.save)
        assert await rung() == (1, 0)

    async def test_a_suspect_waits_for_room_as_well(
        self, mine: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=1))
        first, suspect = await orm.run_in_thread(lambda: start(mine, 2))
        claimed = await nudge(pool, fleet, first)
        assert claimed is not None
        await orm.run_in_thread(lambda: Run.objects.filter(pk=suspect).update(crashes=2))
        assert await nudge(pool, fleet, suspect) is None
        alone = replace(fleet, alone=True)
        assert await nudge(pool, alone, suspect) is None
        await finish(pool, claimed)
        found = await nudge(pool, alone, suspect)
        assert found is not None
        assert found.id == suspect


class TestFairness:
    async def test_given_a_flood_then_the_next_slot_is_another_workspace_s(
        self, mine: Workspace, theirs: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        flooded = await orm.run_in_thread(lambda: start(mine, 500))
        for run in flooded[:5]:
            assert await nudge(pool, fleet, run) is not None
        (theirs_run,) = await orm.run_in_thread(lambda: start(theirs))
        claimed = await nudge(pool, fleet, flooded[5])
        assert claimed is not None
        assert claimed.id == theirs_run
        late = await nudge(pool, fleet, theirs_run)
        assert late is not None, "its own nudge serves one of the flood"
        assert late.workspace_id == mine.pk

    async def test_slots_are_shared_among_all_who_wait(
        self, mine: Workspace, theirs: Workspace, queue: str, pool: Pool, fleet: Claimant
    ) -> None:
        third = await orm.run_in_thread(new_workspace)
        await orm.run_in_thread(lambda: park(third, queue))
        everyone = (mine, theirs, third)
        waiting = await orm.run_in_thread(lambda: [start(each, 20) for each in everyone])
        for run in waiting[0][:12]:
            assert await nudge(pool, fleet, run) is not None
        assert await orm.run_in_thread(lambda: [at_work(each) for each in everyone]) == [4, 4, 4]

    async def test_given_more_workspaces_than_are_compared_then_all_get_their_turn(
        self, mine: Workspace, queue: str, pool: Pool, fleet: Claimant
    ) -> None:
        flooded = await orm.run_in_thread(lambda: start(mine, 60))

        def twenty() -> list[Workspace]:
            others = [new_workspace() for _ in range(20)]
            for each in others:
                park(each, queue)
                start(each)
            return others

        others = await orm.run_in_thread(twenty)
        for run in flooded[:24]:
            assert await nudge(pool, fleet, run) is not None
        assert await orm.run_in_thread(lambda: [at_work(each) for each in others]) == [1] * 20

    async def test_given_nobody_else_then_the_named_run_is_taken(
        self, mine: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        waiting = await orm.run_in_thread(lambda: start(mine, 5))
        claimed = await nudge(pool, fleet, waiting[3])
        assert claimed is not None
        assert (claimed.id, claimed.limited) == (waiting[3], False)

    async def test_a_higher_priority_goes_first_within_its_workspace(
        self, mine: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        (low,) = await orm.run_in_thread(lambda: start(mine, priority=-1))
        usual = (await orm.run_in_thread(lambda: start(mine)))[-1]
        high = (await orm.run_in_thread(lambda: start(mine, priority=9)))[-1]
        for expected in (high, usual, low):
            claimed = await nudge(pool, fleet, low)
            assert claimed is not None
            assert claimed.id == expected

    async def test_given_a_flood_of_high_priority_then_another_workspace_has_its_turn(
        self, mine: Workspace, theirs: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        flooded = await orm.run_in_thread(lambda: start(mine, 50, priority=1000))
        ordinary = await orm.run_in_thread(lambda: start(theirs, 5))
        taken = [await nudge(pool, fleet, run) for run in flooded[:10]]
        assert all(taken)
        assert await orm.run_in_thread(lambda: (at_work(mine), at_work(theirs))) == (5, 5)
        late = await nudge(pool, fleet, ordinary[0])
        assert late is not None, "its own nudge serves one of the flood"
        assert late.workspace_id == mine.pk

    async def test_given_one_slot_then_a_flood_and_another_workspace_take_turns(
        self, mine: Workspace, theirs: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        """Nobody has more at work than the other whenever the slot is free."""
        flooded = await orm.run_in_thread(lambda: start(mine, 50, priority=1000))
        await orm.run_in_thread(lambda: start(theirs, 3))
        turns = []
        for run in flooded[:8]:
            claimed = await nudge(pool, fleet, run)
            assert claimed is not None
            turns.append(claimed.workspace_id)
            await finish(pool, claimed)
        first, second, last = mine.pk, theirs.pk, mine.pk
        assert turns == [first, second] * 3 + [last, last]

    async def test_given_a_stopped_agent_s_high_priorities_then_lower_ones_start(
        self, mine: Workspace, theirs: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        def pile_up() -> UUID:
            for priority in range(20):
                start(mine, 5, agent="analyst", priority=1 + priority)
            Agent.objects.filter(workspace=mine, name="analyst").update(enabled=False)
            flood(mine, 1)
            return Run.objects.get(workspace=mine, agent="writer").pk

        run = await orm.run_in_thread(pile_up)
        await orm.run_in_thread(lambda: start(theirs, 1))
        claimed = [await nudge(pool, fleet, run), await nudge(pool, fleet, run)]
        assert {each.workspace_id for each in claimed if each} == {mine.pk, theirs.pk}

    async def test_a_sweep_rings_for_every_workspace_whatever_a_flood_s_priority_is(
        self, mine: Workspace, theirs: Workspace, fleet: Claimant, queue: str
    ) -> None:
        await orm.run_in_thread(lambda: start(mine, 150, priority=1000))
        await orm.run_in_thread(lambda: start(theirs, 4))
        rung = await orm.run_in_thread(lambda: unanswered(queue))
        assert len(rung) == 100, "as many as there are free slots"
        assert sum(run.workspace_id == theirs.pk for run in rung) == 4

    async def test_given_a_stopped_agent_s_backlog_then_its_workspace_gets_its_turn_all_the_same(
        self, mine: Workspace, theirs: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        def pile_up() -> UUID:
            start(theirs, 150, agent="analyst")
            Agent.objects.filter(workspace=theirs, name="analyst").update(enabled=False)
            flood(theirs, 1)
            return Run.objects.get(workspace=theirs, agent="writer").pk

        flooded = await orm.run_in_thread(lambda: start(mine, 10))
        run = await orm.run_in_thread(pile_up)
        for each in flooded[:3]:
            claimed = await nudge(pool, fleet, each)
            assert claimed is not None
            assert claimed.workspace_id == mine.pk
        claimed = await nudge(pool, fleet, run)
        assert claimed is not None
        assert claimed.id == run

    async def test_a_nudge_for_what_is_gone_serves_whoever_waits(
        self, mine: Workspace, theirs: Workspace, pool: Pool, fleet: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=1))
        await orm.run_in_thread(lambda: start(mine, 3))
        assert (await nudge(pool, fleet, new_id())) is not None
        assert (await nudge(pool, fleet, new_id())) is None, "there is no room for more"
        await orm.run_in_thread(lambda: start(theirs))
        claimed = await nudge(pool, fleet, new_id())
        assert claimed is not None
        assert claimed.workspace_id == theirs.pk


async def test_a_run_that_waits_for_nothing_is_still_queued(
    mine: Workspace, pool: Pool, fleet: Claimant
) -> None:
    """A refused nudge changes nothing of the run."""
    await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=1))
    first, second = await orm.run_in_thread(lambda: start(mine, 2))
    assert await nudge(pool, fleet, first) is not None
    before = await orm.run_in_thread(lambda: Run.objects.values().get(pk=second))
    assert await nudge(pool, fleet, second) is None
    after = await orm.run_in_thread(lambda: Run.objects.values().get(pk=second))
    assert before == after
    assert after["status"] == RunStatus.QUEUED


@pytest.mark.parametrize(("at_once", "said"), [(1, "1 run"), (2, "2 runs")])
async def test_whoever_looks_at_a_run_that_waits_for_room_reads_why(
    mine: Workspace, pool: Pool, fleet: Claimant, at_once: int, said: str
) -> None:
    def why(run_id: UUID) -> str:
        return blocked_reason(Run.objects.select_related("version__agent").get(pk=run_id))

    tier = await orm.run_in_thread(lambda: give_tier(mine, runs_at_once=at_once))
    *others, last = await orm.run_in_thread(lambda: start(mine, at_once + 1))
    assert await orm.run_in_thread(lambda: why(last)) == ""
    for run in others:
        assert await nudge(pool, fleet, run) is not None
    assert await orm.run_in_thread(lambda: why(last)) == (
        f"The workspace is limited to {said} at once (tier {tier.name}): this one starts when "
        "another one ends or waits."
    )
