"""Decisions race with each other, with cancels and with expiry: one of them is true (R12, R13)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from agents.actions.decide_call import Always, approve_call, deny_call
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.choices import Placement, RunStatus
from agents.errors import CallClosedError
from agents.journal.events import ApprovalRequested, ModelDelayed
from agents.live.valkey import connect
from agents.llm.messages import ToolCall
from agents.loop.ports import Committed, PendingSuspension
from agents.models import Agent, Decision, Grant, Run, RunEvent, ToolBinding, Vote, Wait
from agents.models import ToolCall as ToolCallRow
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.ids import new_id
from heartbit_site.base.suspensions import ChildTask, Suspension
from tests.fleet import wait_until
from tests.runs.holding import accept, answer, blocked, claimant, fetch, hold, pool
from tests.sizes import sized
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace

__all__ = ["claimant", "pool"]
pytestmark = pytest.mark.timeout(sized(120, full=900))
ROUNDS = sized(40, full=200)
ANN = Actor("ann", "api")
DIGEST = "d" * 64
_MAKE_DUE = "UPDATE agents_wait SET expires_at = now() - interval '1 s' WHERE run_id = %s"
ASKED = ApprovalRequested("1.0", "save", {"key": "a"}, "at_most_once", DIGEST, "It is asked for.")


async def asking(workspace: Workspace, pool: Pool, claimant: Claimant) -> ToolCallRow:
    """A run that waits for the decision about one call."""
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, run_id)
    await lease.record(answer(1, ToolCall("c", "save", '{"key": "a"}')))
    assert isinstance(await lease.suspend(ASKED), Committed)
    return await orm.run_in_thread(
        lambda: ToolCallRow.objects.select_related("run__version__agent").get(run_id=run_id)
    )


async def raced(*deeds: Callable[[], object]) -> list[object]:
    """What each deed returned, or the sentence it was refused with; all at once."""

    def tried(deed: Callable[[], object]) -> object:
        try:
            return deed()
        except CallClosedError as error:
            return str(error)

    return list(await asyncio.gather(*(orm.run_in_thread(partial(tried, deed)) for deed in deeds)))


def execute(statement: str, parameter: UUID | int) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, [parameter])
        return cursor.fetchall() if cursor.description else []


async def kinds(run_id: UUID) -> list[str]:
    """The journal, type by type."""
    return await orm.run_in_thread(
        lambda: list(RunEvent.objects.filter(run_id=run_id).values_list("type", flat=True))
    )


async def decided(run_id: UUID) -> bool:
    return await orm.run_in_thread(lambda: Decision.objects.filter(run_id=run_id).exists())


async def test_a_call_that_waits_shows_what_was_asked(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    call = await asking(workspace, pool, claimant)
    assert call.approval_view == {
        "tool": "save",
        "arguments": {"key": "a"},
        "reason": "It is asked for.",
    }
    assert (call.status, call.digest, call.effect) == ("waiting", DIGEST, "at_most_once")
    assert (call.run.status, call.run.open_waits) == (RunStatus.WAITING, 1)


async def test_a_decision_or_a_cancel_but_never_a_decision_after_the_cancel(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    taken = 0
    for number in range(ROUNDS):
        call = await asking(workspace, pool, claimant)
        told = await raced(
            partial(approve_call, call, digest=DIGEST, by=ANN),
            partial(cancel_run, workspace, call.run_id, reason="no"),
            partial(deny_call, call, digest=DIGEST, by=ANN, reason="no"),
        )
        run = await fetch(call.run_id)
        was_decided = await decided(run.pk)
        refusals = [sentence for sentence in told if sentence is not None]
        taken += was_decided
        assert run.status == RunStatus.CANCELLED, f"round {number}: {run.status}"
        assert len(refusals) == (1 if was_decided else 2), told
        events = await kinds(run.pk)
        assert events[-1] == "run.cancelled", "nothing is resolved after the end"
        assert ("wait.resolved" in events) == was_decided
    assert taken > 0, "the race was one"


def has_expired(run_id: UUID) -> bool:
    """Sweep, and look; a worker of other tests may be at it as well, and end it a moment later."""
    execute("SELECT * FROM heartbit_expire_waits(%s)", 100)
    return Run.objects.filter(pk=run_id, status=RunStatus.QUEUED).exists()


async def test_a_decision_after_the_expiry_is_refused_whoever_comes_first(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    for _ in range(ROUNDS // 2):
        call = await asking(workspace, pool, claimant)
        await orm.run_in_thread(partial(execute, _MAKE_DUE, call.run_id))
        await raced(
            partial(execute, "SELECT * FROM heartbit_expire_waits(%s)", 100),
            partial(approve_call, call, digest=DIGEST, by=ANN),
        )
        await orm.run_in_thread(
            partial(wait_until, partial(has_expired, call.run_id), what="expired")
        )
        wait = await orm.run_in_thread(partial(Wait.objects.get, run_id=call.run_id))
        run = await fetch(call.run_id)
        assert run.status == RunStatus.QUEUED
        assert wait.value is not None
        assert wait.value["status"] == "expired", "no decision is taken once its time is over"
        decision = await orm.run_in_thread(partial(Decision.objects.get, run_id=run.pk))
        assert (decision.verdict, decision.decided_by) == ("denied", "expiry")
        events = await kinds(run.pk)
        assert events.count("wait.resolved") == 1


async def test_what_does_not_wait_is_not_decided(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    call = await asking(workspace, pool, claimant)
    with pytest.raises(CallClosedError, match="not the one that was shown"):
        await orm.run_in_thread(lambda: approve_call(call, digest="e" * 64, by=ANN))
    await orm.run_in_thread(lambda: approve_call(call, digest=DIGEST, by=ANN))
    with pytest.raises(CallClosedError, match="already approved by ann"):
        await orm.run_in_thread(lambda: deny_call(call, digest=DIGEST, by=ANN, reason="no"))
    other = await orm.run_in_thread(lambda: accept(workspace))
    call.run_id = other
    with pytest.raises(CallClosedError, match="does not wait"):
        await orm.run_in_thread(lambda: approve_call(call, digest=DIGEST, by=ANN))


@pytest.fixture
def careful(workspace: Workspace) -> Agent:
    """A published agent that asks before it calculates; what it may do can be allowed for good."""
    row = Agent.objects.create(
        workspace=workspace, name="solo", system_prompt="Be brief.", approval="always"
    )
    ToolBinding.objects.create(agent=row, tool="calculate")
    publish_agent(row)
    return row


async def two_asking(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> tuple[ToolCallRow, ToolCallRow]:
    """Calls of two runs of one agent that wait for the same permission."""

    async def one() -> ToolCallRow:
        run_id = await orm.run_in_thread(lambda: accept(workspace, "solo"))
        _, lease = await hold(pool, claimant, run_id)
        await lease.record(answer(1, ToolCall("c", "calculate", '{"expression": "1"}')))
        asked = replace(ASKED, tool="calculate", arguments={"expression": "1"}, effect="pure")
        assert isinstance(await lease.suspend(asked), Committed)
        rows = ToolCallRow.objects.select_related("run__version__agent", "run__workspace")
        return await orm.run_in_thread(lambda: rows.get(run_id=run_id))

    return await one(), await one()


def allow(call: ToolCallRow, name: str) -> None:
    by = Actor(name, "api")
    approve_call(call, digest=call.digest, by=by, always=Always("agent"))


async def verdicts(*calls: ToolCallRow) -> list[tuple[str, str, str]]:
    rows = Decision.objects.filter(run_id__in=[call.run_id for call in calls])
    return await orm.run_in_thread(
        lambda: list(rows.order_by("run_id").values_list("verdict", "decided_by", "via"))
    )


@pytest.mark.usefixtures("careful")
async def test_two_who_allow_it_for_good_at_once_do_not_meet_in_the_database(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    for _ in range(ROUNDS // 2):
        first, second = await two_asking(workspace, pool, claimant)
        told = await raced(partial(allow, first, "ann"), partial(allow, second, "bob"))
        decisions = await verdicts(first, second)
        assert [verdict for verdict, _, _ in decisions] == ["approved", "approved"]
        for refused, own, other in zip(told, decisions, ("bob", "ann"), strict=True):
            if refused is None:
                continue
            assert refused == f"The call was already approved by {other}."
            assert own[1:] == (other, "grant")
        assert told.count(None) >= 1
        for call in (first, second):
            assert (await fetch(call.run_id)).status == RunStatus.QUEUED


@pytest.mark.usefixtures("careful")
async def test_a_denial_of_another_call_stands_beside_a_permission_for_good(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    denied = 0
    for _ in range(ROUNDS // 2):
        first, second = await two_asking(workspace, pool, claimant)
        told = await raced(
            partial(allow, first, "ann"),
            partial(
                deny_call, second, digest=DIGEST, by=Actor("bob", "api"), reason="Not this one."
            ),
        )
        own, other = await verdicts(first, second)
        assert told[0] is None, "what somebody decided elsewhere undoes no approval"
        assert own == ("approved", "ann", "api")
        if told[1] is None:
            assert other == ("denied", "bob", "api")
            denied += 1
        else:
            assert told[1] == "The call was already approved by ann."
            assert other == ("approved", "ann", "grant")
    assert denied > 0, "the race was one"


@pytest.mark.usefixtures("careful")
async def test_who_allows_it_for_good_waits_for_another_s_decision_with_nothing_locked(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    """The moment that the races above meet now and then: one decided, the other being decided."""
    first, second = await two_asking(workspace, pool, claimant)
    bob = await psycopg.AsyncConnection.connect(settings.DATABASE_URL)
    async with bob:
        await bob.execute(
            "SELECT heartbit_decide(%s, '1.0', %s, 'denied', NULL, '', 'no', NULL, 'bob', 'api',"
            " NULL)",
            (second.run_id, DIGEST),
        )
        allowing = asyncio.create_task(orm.run_in_thread(partial(allow, first, "ann")))
        await blocked(bob)
        lock = "SELECT id FROM agents_run WHERE id = %s FOR NO KEY UPDATE NOWAIT"
        await bob.execute(lock, (first.run_id,))  # else the two would wait for each other
        await bob.commit()
        await allowing
    assert await verdicts(first, second) == [
        ("approved", "ann", "api"),
        ("denied", "bob", "api"),
    ]


async def delegated(
    workspace: Workspace,
    pool: Pool,
    claimant: Claimant,
    asked: ApprovalRequested = ASKED,
    *,
    seconds: float = 60,
) -> tuple[UUID, ToolCallRow]:
    """A run that waits for its sub-agent, which waits for a person."""
    parent = await orm.run_in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, parent)
    await lease.record(answer(1, ToolCall("c", "delegate_task", "{}")))
    child = new_id()
    children = (ChildTask("writer", "Write.", child),)
    await lease.suspend(PendingSuspension("1.0", Suspension(children, seconds)))
    _, held = await hold(pool, claimant, child)
    await held.record(answer(1, ToolCall("c", "save", '{"key": "a"}')))
    assert isinstance(await held.suspend(asked), Committed)
    rows = ToolCallRow.objects.select_related("run__version__agent", "run__workspace")
    return parent, await orm.run_in_thread(lambda: rows.get(run_id=child))


async def test_an_approval_with_a_key_of_nobody_waits_for_the_orchestrator_with_nothing_locked(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    """As everything that locks both; else a cancel of the tree would meet it in the database."""
    asked = replace(ASKED, needed=2)
    parent, call = await delegated(workspace, pool, claimant, asked)
    lock = "SELECT id FROM agents_run WHERE id = %s FOR NO KEY UPDATE NOWAIT"
    other = await psycopg.AsyncConnection.connect(settings.DATABASE_URL)
    async with other:
        await other.execute(lock, (parent,))
        approve = partial(approve_call, call, digest=DIGEST, by=ANN)
        approving = asyncio.create_task(orm.run_in_thread(approve))
        await blocked(other)
        await other.execute(lock, (call.run_id,))
        await other.commit()
        await approving
    assert await orm.run_in_thread(Vote.objects.filter(run=call.run_id).count) == 1


class TestAnOrchestratorsPatience:
    """It stands still while its sub-agent waits for a person."""

    async def test_it_does_not_end_while_a_person_thinks_and_is_as_long_as_before_afterwards(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        parent, call = await delegated(workspace, pool, claimant, seconds=60)
        wait = await orm.run_in_thread(partial(Wait.objects.get, run_id=parent))
        hours = "UPDATE agents_wait SET created_at = created_at - interval '2 h',"
        hours += " expires_at = expires_at - interval '2 h' WHERE run_id = %s"
        for waits in (parent, call.run_id):  # as if all this had been two hours ago
            await orm.run_in_thread(partial(execute, hours, waits))
        expire = partial(execute, "SELECT ring FROM heartbit_expire_waits(%s)", 1000)
        await orm.run_in_thread(expire)
        assert (await fetch(parent)).status == RunStatus.WAITING
        assert (await fetch(call.run_id)).status == RunStatus.WAITING

        await orm.run_in_thread(partial(approve_call, call, digest=DIGEST, by=ANN))
        await orm.run_in_thread(expire)
        assert (await fetch(parent)).status == RunStatus.WAITING
        assert (await fetch(call.run_id)).status == RunStatus.QUEUED
        after = await orm.run_in_thread(partial(Wait.objects.get, run_id=parent))
        assert wait.expires_at is not None
        assert after.expires_at is not None
        gained = (after.expires_at - wait.expires_at).total_seconds()
        assert 0 <= gained < 30, "what the decision took, in this test's time"

        await orm.run_in_thread(partial(execute, _MAKE_DUE, parent))
        await orm.run_in_thread(expire)
        assert (await fetch(parent)).status == RunStatus.QUEUED, "it is patience all the same"
        assert (await fetch(call.run_id)).status == RunStatus.CANCELLED

    async def test_what_a_stop_has_given_back_is_not_given_twice(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        parent, call = await delegated(workspace, pool, claimant, seconds=60)
        hours = "UPDATE agents_wait SET created_at = created_at - interval '2 h',"
        hours += " expires_at = expires_at - interval '2 h' WHERE run_id = %s"
        for waits in (parent, call.run_id):
            await orm.run_in_thread(partial(execute, hours, waits))
        again = partial(execute, "SELECT ring FROM heartbit_go_on(NULL, %s, 0)", workspace.pk)
        await orm.run_in_thread(again)
        given = await orm.run_in_thread(partial(Wait.objects.get, run_id=parent))
        assert given.expires_at is not None
        assert 30 < (given.expires_at - timezone.now()).total_seconds() <= 60
        await orm.run_in_thread(partial(approve_call, call, digest=DIGEST, by=ANN))
        after = await orm.run_in_thread(partial(Wait.objects.get, run_id=parent))
        assert after.expires_at is not None
        assert (after.expires_at - timezone.now()).total_seconds() <= 60


async def test_a_pause_is_a_wait_for_a_time(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, run_id)
    delayed = ModelDelayed(1, "timer:0", "The provider is busy.", 0.0)
    assert isinstance(await lease.suspend(delayed), Committed)
    assert (await fetch(run_id)).status == RunStatus.WAITING

    expire = partial(execute, "SELECT ring FROM heartbit_expire_waits(%s)", 1000)
    assert (run_id,) in await orm.run_in_thread(expire)
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
    assert (run.status, run.home) == (RunStatus.QUEUED, Placement.LOCAL)


async def calculating(
    workspace: Workspace,
    pool: Pool,
    claimant: Claimant,
    *,
    agent: str = "solo",
    approve: bool = False,
    needed: int = 1,
) -> ToolCallRow:
    """A run whose call of ``calculate`` waits for a person."""
    start = partial(
        start_run, workspace, "Do it.", agent=agent, home=Placement.LOCAL, approve=approve
    )
    run_id = await orm.run_in_thread(start)
    _, lease = await hold(pool, claimant, run_id)
    await lease.record(answer(1, ToolCall("c", "calculate", '{"expression": "1"}')))
    arguments = {"expression": "1"}
    asked = replace(ASKED, tool="calculate", arguments=arguments, effect="pure", needed=needed)
    assert isinstance(await lease.suspend(asked), Committed)
    rows = ToolCallRow.objects.select_related("run__version__agent", "run__workspace")
    return await orm.run_in_thread(lambda: rows.get(run_id=run_id))


def published(workspace: Workspace, name: str, prompt: str = "Be brief.") -> Agent:
    """An agent that asks before it calculates, published as it is now."""
    row, created = Agent.objects.update_or_create(
        workspace=workspace, name=name, defaults={"system_prompt": prompt, "approval": "always"}
    )
    if created:
        ToolBinding.objects.create(agent=row, tool="calculate")
    publish_agent(row)
    return row


class TestAPermissionDecidesOnly:
    """What else waits: the same agent's, in the same version, unless its run wants to be asked."""

    async def test_calls_of_its_agent(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: published(workspace, "solo"))
        await orm.run_in_thread(lambda: published(workspace, "other"))
        mine = await calculating(workspace, pool, claimant)
        others = await calculating(workspace, pool, claimant, agent="other")
        await orm.run_in_thread(partial(allow, mine, "ann"))
        assert await verdicts(mine, others) == [("approved", "ann", "api")]

    async def test_calls_of_its_version(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: published(workspace, "solo"))
        older = await calculating(workspace, pool, claimant)
        await orm.run_in_thread(lambda: published(workspace, "solo", "Be very brief."))
        newer = await calculating(workspace, pool, claimant)
        await orm.run_in_thread(partial(allow, newer, "ann"))
        assert await verdicts(older, newer) == [("approved", "ann", "api")]

    async def test_calls_of_runs_that_do_not_want_to_be_asked(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: published(workspace, "solo"))
        asking = await calculating(workspace, pool, claimant, approve=True)
        free = await calculating(workspace, pool, claimant)
        await orm.run_in_thread(partial(allow, free, "ann"))
        assert not await decided(asking.run_id)


async def test_one_of_several_approvers_gives_no_standing_permission(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    await orm.run_in_thread(lambda: published(workspace, "solo"))
    call = await calculating(workspace, pool, claimant, needed=2)
    with pytest.raises(CallClosedError):
        await orm.run_in_thread(partial(allow, call, "ann"))
    assert not await decided(call.run_id)
    assert not await orm.run_in_thread(Grant.objects.filter(workspace=workspace).exists)


async def test_a_reason_that_the_database_cannot_hold_is_cleaned(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    call = await asking(workspace, pool, claimant)
    await orm.run_in_thread(
        partial(deny_call, call, digest=DIGEST, by=ANN, reason=" No\x00\ud800 ")
    )
    decision = await orm.run_in_thread(partial(Decision.objects.get, run_id=call.run_id))
    assert decision.reason == "No\ufffd\ufffd"


@pytest.mark.parametrize("decide", [approve_call, partial(deny_call, reason="no")])
async def test_a_decision_rings_for_its_run(
    workspace: Workspace, pool: Pool, claimant: Claimant, decide: Callable[..., None]
) -> None:
    call = await asking(workspace, pool, claimant)
    queue = f"unserved-{uuid4().hex}"
    rows = Run.objects.filter(pk=call.run_id)
    await orm.run_in_thread(partial(rows.update, home=Placement.FLEET, queue=queue))
    valkey = connect(settings.REDIS_URL)
    assert await valkey.llen(queue) == 0
    await orm.run_in_thread(partial(decide, call, digest=DIGEST, by=ANN))
    assert await valkey.llen(queue) == 1
    await valkey.delete(queue)
    await valkey.aclose()
