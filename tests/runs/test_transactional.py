"""A transactional tool and its journaled result commit together or not at all."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from agents.errors import LeaseLostError
from agents.journal.events import Event, ToolFinished
from agents.llm.messages import ToolCall
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from tests.runs.holding import accept, answer, claimant, hold, pool

if TYPE_CHECKING:
    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool

__all__ = ["claimant", "pool"]

DONE = ToolFinished("1.0", "ok", "renamed", "transactional")


def rename(workspace: Workspace) -> Event:
    Workspace.objects.filter(pk=workspace.pk).update(name="renamed")
    return DONE


async def name_of(workspace: Workspace) -> str:
    return await orm.run_in_thread(lambda: Workspace.objects.get(pk=workspace.pk).name)


async def test_both_commit(workspace: Workspace, pool: Pool, claimant: Claimant) -> None:
    _, lease = await hold(pool, claimant, await orm.run_in_thread(lambda: accept(workspace)))
    await lease.record(answer(1, ToolCall("c", "rename", "{}")))
    recorded = await lease.transact(lambda: rename(workspace), timeout_seconds=5)
    assert [row.event for row in recorded] == [DONE]
    assert await name_of(workspace) == "renamed"


async def test_a_lost_lease_undoes_the_tool(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    _, stale = await hold(pool, claimant, run_id)
    await stale.release("test")
    await hold(pool, claimant, run_id)
    with pytest.raises(LeaseLostError):
        await stale.transact(lambda: rename(workspace), timeout_seconds=5)
    assert await name_of(workspace) == workspace.slug


async def test_a_tool_that_takes_too_long_is_shut_out(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    _, lease = await hold(pool, claimant, await orm.run_in_thread(lambda: accept(workspace)))
    await lease.record(answer(1, ToolCall("c", "rename", "{}")))
    gate, left = threading.Event(), threading.Event()

    def slow() -> Event:
        event = rename(workspace)
        gate.wait(10)
        left.set()
        return event

    assert await lease.transact(slow, timeout_seconds=0.1) == ()
    gate.set()
    await orm.run_in_thread(lambda: left.wait(10))
    late = ToolFinished("1.0", "timeout", "too slow", "transactional")
    assert [row.event for row in await lease.record(late)] == [late]
    assert await name_of(workspace) == workspace.slug
