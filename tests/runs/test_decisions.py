"""Decisions race with each other, with cancels and with expiry: one of them is true (R12, R13)."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from agents.actions.cancel_run import cancel_run
from agents.actions.decide_call import Decider, approve_call, deny_call
from agents.choices import Home, RunStatus
from agents.errors import NoLongerOpenError
from agents.events import ApprovalRequested, ModelDelayed
from agents.llm.messages import ToolCall
from agents.loop.ports import PendingApproval, PendingTimer, Settled
from agents.models import Decision, Run, RunEvent, Wait
from agents.models import ToolCall as ToolCallRow
from heartbit_site.base import orm
from tests.runs.holding import accept, answer, claimant, fetch, hold, pool

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace

__all__ = ["claimant", "pool"]
ROUNDS = 40
ANN = Decider("ann", "api")
DIGEST = "d" * 64
_MAKE_DUE = "UPDATE agents_wait SET expires_at = now() - interval '1 s' WHERE run_id = %s"
ASKED = ApprovalRequested("1.0", "save", {"key": "a"}, "at_most_once", DIGEST, "It is asked for.")


async def asking(workspace: Workspace, pool: Pool, claimant: Claimant) -> ToolCallRow:
    """A run that waits for the decision about one call."""
    run_id = await orm.in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, run_id)
    await lease.record(answer(1, ToolCall("c", "save", '{"key": "a"}')))
    assert isinstance(await lease.suspend(PendingApproval(ASKED)), Settled)
    return await orm.in_thread(
        lambda: ToolCallRow.objects.select_related("run__version__agent").get(run_id=run_id)
    )


async def raced(*deeds: Callable[[], object]) -> list[object]:
    """What each deed returned, or the sentence it was refused with; all at once."""

    def tried(deed: Callable[[], object]) -> object:
        try:
            return deed()
        except NoLongerOpenError as error:
            return str(error)

    return list(await asyncio.gather(*(orm.in_thread(partial(tried, deed)) for deed in deeds)))


def execute(statement: str, parameter: UUID | int) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, [parameter])
        return cursor.fetchall() if cursor.description else []


async def kinds(run_id: UUID) -> list[str]:
    """The journal, type by type."""
    return await orm.in_thread(
        lambda: list(RunEvent.objects.filter(run_id=run_id).values_list("type", flat=True))
    )


async def decided(run_id: UUID) -> bool:
    return await orm.in_thread(lambda: Decision.objects.filter(run_id=run_id).exists())


async def test_a_call_that_waits_shows_what_was_asked(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    call = await asking(workspace, pool, claimant)
    assert call.shown == {"tool": "save", "arguments": {"key": "a"}, "reason": "It is asked for."}
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


async def test_an_expiry_and_a_decision_resolve_the_wait_once(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    for _ in range(ROUNDS // 2):
        call = await asking(workspace, pool, claimant)
        await orm.in_thread(partial(execute, _MAKE_DUE, call.run_id))
        await raced(
            partial(execute, "SELECT * FROM heartbit_expire_waits(%s)", 100),
            partial(approve_call, call, digest=DIGEST, by=ANN),
        )
        wait = await orm.in_thread(partial(Wait.objects.get, run_id=call.run_id))
        run = await fetch(call.run_id)
        assert run.status == RunStatus.QUEUED
        assert wait.value is not None
        expected = "approved" if await decided(run.pk) else "expired"
        assert wait.value["status"] == expected
        events = await kinds(run.pk)
        assert events.count("wait.resolved") == 1


async def test_what_does_not_wait_is_not_decided(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    call = await asking(workspace, pool, claimant)
    with pytest.raises(NoLongerOpenError, match="not the one that was shown"):
        await orm.in_thread(lambda: approve_call(call, digest="e" * 64, by=ANN))
    await orm.in_thread(lambda: approve_call(call, digest=DIGEST, by=ANN))
    with pytest.raises(NoLongerOpenError, match="already approved by ann"):
        await orm.in_thread(lambda: deny_call(call, digest=DIGEST, by=ANN, reason="no"))
    other = await orm.in_thread(lambda: accept(workspace))
    call.run_id = other
    with pytest.raises(NoLongerOpenError, match="does not wait"):
        await orm.in_thread(lambda: approve_call(call, digest=DIGEST, by=ANN))


async def test_a_pause_is_a_wait_for_a_time(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, run_id)
    delayed = ModelDelayed(1, "timer:0", "The provider is busy.", 0.0)
    assert isinstance(await lease.suspend(PendingTimer(delayed)), Settled)
    assert (await fetch(run_id)).status == RunStatus.WAITING

    expire = partial(execute, "SELECT ring FROM heartbit_expire_waits(%s)", 1000)
    assert (run_id,) in await orm.in_thread(expire)
    run = await orm.in_thread(lambda: Run.objects.get(pk=run_id))
    assert (run.status, run.home) == (RunStatus.QUEUED, Home.LOCAL)
