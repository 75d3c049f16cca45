"""Threads, steering and workers of two generations: the database's own rules for them."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from django.conf import settings
from django.db.migrations.loader import MigrationLoader

from agents.actions.admit import Admitted
from agents.actions.run_request import start_conversation
from agents.actions.runs import cancel_run, steer_run
from agents.choices import BusyPolicy, Placement, RunStatus
from agents.errors import CallClosedError
from agents.journal.events import ApprovalRequested, RunCancelled, RunSucceeded, encode
from agents.llm.messages import AssistantMessage, ToolCall, UserMessage
from agents.loop.past_runs import to_messages
from agents.loop.ports import Committed, Conflict
from agents.models import Agent, AgentVersion, Conversation, Run, RunEvent, Wait
from agents.runs.claims import Claimant, claim
from agents.runs.pool import call
from heartbit_site.base import orm
from heartbit_site.base.ids import new_id
from tests.quotas.limited import give_tier
from tests.runs.holding import answer, blocked, claimant, fetch, hold, pool
from tests.starts import post_message, start_run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from agents.runs.lease import Lease
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace

__all__ = ["claimant", "pool"]
ASKED = ApprovalRequested("1.0", "save", {}, "pure", "d" * 64, "It is asked for.")
# The calls as the first version of Heartbit made them; in a rolling deploy it still does.
OLD_SUBMIT = "SELECT * FROM heartbit_submit(%s, %s, %s, %s, %s, %s, %s, %s)"
OLD_CLAIM = "SELECT * FROM heartbit_claim(%s, %s, %s, %s, %s, %s, %s)"
OLD_FINISH = "SELECT * FROM heartbit_finish(%s, %s, %s, %s, %s, %s, %s)"
OLD_SUSPEND = "SELECT * FROM heartbit_suspend(%s, %s, %s, %s, %s)"
OLD_RELEASE = "SELECT heartbit_release(%s, %s, %s, %s) AS released"
OLD_CANCEL = "SELECT heartbit_cancel(%s, %s) AS ring"


@pytest.fixture
def thread(workspace: Workspace) -> Conversation:
    return start_conversation(workspace, agent="orchestrator")


async def post(
    thread: Conversation,
    text: str,
    policy: BusyPolicy | None = None,
    **options: Any,
) -> Admitted:
    """Say something on a thread; it is executed by nobody but the test."""
    return await orm.run_in_thread(
        lambda: post_message(thread, text, home=Placement.LOCAL, busy_policy=policy, **options)
    )


async def is_due(run_id: UUID) -> bool:
    """Whether a run may start now, rather than after the one before it on its thread."""
    run = await fetch(run_id)
    return run.status == RunStatus.QUEUED and run.available_at.year < 9999


async def steers(run_id: UUID) -> list[str]:
    return await orm.run_in_thread(
        lambda: [
            event.payload["text"]
            for event in RunEvent.objects.filter(run_id=run_id, type="run.steered").order_by("seq")
        ]
    )


def of_format(workspace: Workspace, number: int) -> None:
    """Let the workspace's orchestrator have a version of this format."""
    agent = Agent.objects.select_related("current_version").get(
        workspace=workspace, name="orchestrator"
    )
    assert agent.current_version is not None
    snapshot = {**agent.current_version.snapshot, "format": number}
    newest = agent.current_version.number + 1
    agent.current_version = AgentVersion.objects.create(
        agent=agent, number=newest, hash=f"{newest:064}", snapshot=snapshot
    )
    agent.save()


class TestWorkersOfTwoGenerations:
    @pytest.mark.parametrize("novelty", ["none", "approve", "conversation", "format"])
    async def test_the_first_gets_no_run_that_it_does_not_understand(
        self, workspace: Workspace, pool: Pool, claimant: Claimant, novelty: str
    ) -> None:
        queue = f"q-{workspace.slug}"

        def make() -> UUID:
            of_format(workspace, 2 if novelty == "format" else 1)
            if novelty == "conversation":
                thread = start_conversation(workspace, agent="orchestrator")
                made = post_message(thread, "Hello.", home=Placement.LOCAL).run_id
            else:
                approve = novelty == "approve"
                made = start_run(
                    workspace, "Do it.", agent="orchestrator", home=Placement.LOCAL, approve=approve
                )
            Run.objects.filter(pk=made).update(home=Placement.FLEET, queue=queue)
            return made

        async def old(named: UUID, queues: list[str]) -> Mapping[str, Any] | None:
            name, task = claimant.worker_name, "task"
            arguments = (named, "fleet", queues, claimant.worker_id, name, task, "openai:fake")
            return await call(pool, OLD_CLAIM, arguments)

        by_name, by_queue = await orm.run_in_thread(make), await orm.run_in_thread(make)
        if novelty == "none":
            for row in (await old(by_name, []), await old(new_id(), [queue])):
                assert row is not None
                assert row["run_id"] in (by_name, by_queue)
            return
        assert await old(by_name, []) is None
        assert await old(new_id(), [queue]) is None
        assert (await fetch(by_name)).status == RunStatus.QUEUED
        fleet = Claimant(claimant.worker_id, "test:1", Placement.FLEET, (queue,), "openai:fake")
        for named in (by_queue, new_id()):
            taken = await claim(pool, fleet, named, task_id="task")
            assert taken is not None
            assert taken.id in (by_name, by_queue)

    async def test_the_first_s_calls_still_work(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        await orm.run_in_thread(partial(of_format, workspace, 1))

        async def taken() -> tuple[UUID, int, int]:
            run_id, agent = new_id(), "orchestrator"
            arguments = (run_id, workspace.pk, agent, "Do it.", "local", 0, "", None)
            submitted = await call(pool, OLD_SUBMIT, arguments)
            assert submitted is not None
            assert (submitted["run_id"], submitted["is_new"]) == (run_id, True)
            return await again(run_id)

        async def again(run_id: UUID) -> tuple[UUID, int, int]:
            name = claimant.worker_name
            row = await call(
                pool,
                OLD_CLAIM,
                (run_id, "local", [], claimant.worker_id, name, "task", "openai:fake"),
            )
            assert row is not None
            assert row["events"], "the journal comes with it"
            return run_id, row["lease_token"], row["last_seq"]

        run_id, token, _ = await taken()
        released = await call(pool, OLD_RELEASE, (run_id, token, "drain", 0.0))
        assert released is not None
        assert released["released"]
        parent, token, seq = await again(run_id)

        child = {"id": str(new_id()), "agent": "writer", "task": "Write.", "call_id": "1.0"}
        children = json.dumps([{**child, "timeout_seconds": 60}])
        suspended = await call(pool, OLD_SUSPEND, (parent, token, seq, "[]", children))
        assert suspended is not None
        assert (suspended["moved"], len(suspended["queues"])) == (False, 1)
        wait = await orm.run_in_thread(lambda: Wait.objects.get(run_id=parent))
        assert (wait.kind, wait.key) == ("child", f"child:{child['id']}")

        await call(pool, OLD_CANCEL, (child["id"], "enough"))
        parent, token, seq = await again(parent)
        ending = json.dumps([encode(RunSucceeded("done"))])
        arguments = (parent, token, seq, "succeeded", "done", None, ending)
        finished = await call(pool, OLD_FINISH, arguments)
        assert finished is not None
        assert not finished["moved"]
        run = await fetch(parent)
        assert (run.status, run.output) == (RunStatus.SUCCEEDED, "done")

    def test_the_tables_and_their_functions_come_in_one_transaction(self) -> None:
        """Else there is a moment at which a submission fails: old functions, new columns."""
        migrations = MigrationLoader(None).disk_migrations
        newest = max(name for app, name in migrations if app == "agents")
        migration = migrations["agents", newest]
        kinds = [type(operation).__name__ for operation in migration.operations]
        assert migration.atomic, newest
        assert kinds[-1] == "RunPython", f"{newest} changes tables and installs no functions"


class TestHeldRuns:
    async def test_the_next_is_due_when_one_is_cancelled_as_the_run_before_it_ends(
        self, thread: Conversation, pool: Pool, claimant: Claimant
    ) -> None:
        first, second, third = [(await post(thread, str(number))).run_id for number in range(3)]
        _, lease = await hold(pool, claimant, first)
        other = await psycopg.AsyncConnection.connect(settings.DATABASE_URL)
        async with other:
            await other.execute("SELECT heartbit_cancel(%s, 'no')", (second,))
            ending = asyncio.create_task(lease.finish(RunSucceeded("done")))
            await blocked(other)
            await other.commit()
            await ending
        assert (await fetch(second)).status == RunStatus.CANCELLED
        assert await is_due(third)
        assert lease.ring is not None
        assert lease.ring.id == third

    async def test_the_next_is_due_when_the_run_before_ends_first(
        self, thread: Conversation, pool: Pool, claimant: Claimant, workspace: Workspace
    ) -> None:
        first, second, third = [(await post(thread, str(number))).run_id for number in range(3)]
        claimed, _ = await hold(pool, claimant, first)
        other = await psycopg.AsyncConnection.connect(settings.DATABASE_URL)
        async with other:
            ending = json.dumps([encode(RunSucceeded("done"))])
            await other.execute(
                "SELECT heartbit_finish(%s, %s, %s, 'succeeded', 'done', NULL, %s)",
                (first, claimed.token, claimed.last_seq, ending),
            )
            stop = partial(cancel_run, workspace, second, reason="no")
            cancelling = asyncio.create_task(orm.run_in_thread(stop))
            await blocked(other)
            await other.commit()
            await cancelling
        assert (await fetch(second)).status == RunStatus.CANCELLED
        assert await is_due(third)

    async def test_the_thread_goes_on_when_every_held_run_is_cancelled_at_that_moment(
        self, thread: Conversation, pool: Pool, claimant: Claimant
    ) -> None:
        first, second = [(await post(thread, str(number))).run_id for number in range(2)]
        _, lease = await hold(pool, claimant, first)
        other = await psycopg.AsyncConnection.connect(settings.DATABASE_URL)
        async with other:
            await other.execute("SELECT heartbit_cancel(%s, 'no')", (second,))
            ending = asyncio.create_task(lease.finish(RunSucceeded("done")))
            await blocked(other)
            await other.commit()
            await ending
        assert lease.ring is None
        posted = await post(thread, "Still there?")
        assert posted.outcome == "started"
        assert await is_due(posted.run_id)


async def test_a_message_waits_for_the_count_of_runs_before_it_locks_one(
    thread: Conversation, workspace: Workspace
) -> None:
    """As a tool that starts runs in its run's transaction, with which it would meet otherwise."""
    await orm.run_in_thread(partial(give_tier, workspace, runs_per_day=10))
    first = (await post(thread, "One.")).run_id
    other = await psycopg.AsyncConnection.connect(settings.DATABASE_URL)
    async with other:
        counts = "SELECT FROM agents_runcount WHERE workspace_id = %s FOR NO KEY UPDATE"
        await other.execute(counts, (workspace.pk,))
        posting = asyncio.create_task(post(thread, "Two.", BusyPolicy.QUEUE))
        await blocked(other)
        lock = "SELECT FROM agents_run WHERE id = %s FOR NO KEY UPDATE NOWAIT"
        await other.execute(lock, (first,))
        await other.commit()
        assert (await posting).outcome == "queued"


async def stopped(lease: Lease) -> None:
    """The worker sees that its run is cancelled, and ends it."""
    assert isinstance(await lease.finish(RunCancelled("stop", "")), Conflict)
    assert isinstance(await lease.finish(RunCancelled("stop", "")), Committed)


class TestWhatWasSaid:
    async def test_what_an_interrupted_run_was_asked_and_told_is_known_afterwards(
        self, thread: Conversation, pool: Pool, claimant: Claimant
    ) -> None:
        first = (await post(thread, "Book a table for Ann.")).run_id
        _, lease = await hold(pool, claimant, first)
        await lease.record(answer(1, ToolCall("c", "save", "{}"), text="Let me see."))
        await lease.suspend(ASKED)
        await orm.run_in_thread(lambda: steer_run(Run.objects.get(pk=first), "For four."))
        interrupt = BusyPolicy.INTERRUPT
        second = (await post(thread, "At eight.", interrupt)).run_id
        claimed, _ = await hold(pool, claimant, second)
        assert claimed.thread == [
            {"task": "Book a table for Ann.", "output": None, "steers": ["For four."]}
        ]
        words = [UserMessage("Book a table for Ann."), UserMessage("For four.")]
        assert to_messages(claimed.thread) == words

    async def test_a_run_that_was_cancelled_before_it_began_was_never_said(
        self, thread: Conversation, pool: Pool, claimant: Claimant, workspace: Workspace
    ) -> None:
        first, second, third = [
            (await post(thread, text)).run_id for text in ("One.", "Delete it all!", "Three.")
        ]
        _, lease = await hold(pool, claimant, first)
        await orm.run_in_thread(partial(cancel_run, workspace, second, reason="no"))
        await lease.finish(RunSucceeded("Done."))
        claimed, _ = await hold(pool, claimant, third)
        assert to_messages(claimed.thread) == [UserMessage("One."), AssistantMessage("Done.")]


class TestSteering:
    async def test_a_run_that_is_being_cancelled_hears_nothing_and_the_message_is_held(
        self, thread: Conversation, pool: Pool, claimant: Claimant, workspace: Workspace
    ) -> None:
        first = (await post(thread, "One.")).run_id
        _, lease = await hold(pool, claimant, first)
        await orm.run_in_thread(partial(cancel_run, workspace, first, reason="stop"))
        posted = await post(thread, "Book it for eight.", BusyPolicy.STEER)
        assert posted.outcome == "queued"
        row = await fetch(first)
        with pytest.raises(CallClosedError, match="is being cancelled: start a new one"):
            await orm.run_in_thread(lambda: steer_run(row, "For four."))
        assert await steers(first) == []
        await stopped(lease)
        assert await is_due(posted.run_id)
        claimed, _ = await hold(pool, claimant, posted.run_id)
        assert to_messages(claimed.thread) == [UserMessage("One.")]

    @pytest.mark.parametrize(
        ("asks", "wants", "outcome"),
        [(False, True, "queued"), (True, True, "steered"), (False, False, "steered")],
    )
    async def test_who_wants_to_be_asked_does_not_steer_a_run_that_asks_nobody(
        self, thread: Conversation, outcome: str, *, asks: bool, wants: bool
    ) -> None:
        first = await post(thread, "One.", approve=asks)
        posted = await post(thread, "Now delete it.", BusyPolicy.STEER, approve=wants)
        assert posted.outcome == outcome
        doing = await fetch(posted.run_id)
        assert doing.approve or not wants, "whoever does it asks"
        assert (posted.run_id == first.run_id) == (outcome == "steered")

    async def test_a_key_steers_once(
        self, thread: Conversation, pool: Pool, claimant: Claimant
    ) -> None:
        first = (await post(thread, "One.")).run_id
        key = f"key-{first}"
        told = [await post(thread, "Two.", BusyPolicy.STEER, idempotency_key=key) for _ in range(3)]
        assert told == [Admitted(first, "steered")] * 3
        assert await steers(first) == ["Two."]
        _, lease = await hold(pool, claimant, first)
        assert isinstance(await lease.finish(RunSucceeded("done")), Committed)
        late = await post(thread, "Two.", BusyPolicy.STEER, idempotency_key=key)
        assert late == Admitted(first, "steered"), "also when the run has ended meanwhile"
        assert await orm.run_in_thread(lambda: Run.objects.filter(conversation=thread).count()) == 1
