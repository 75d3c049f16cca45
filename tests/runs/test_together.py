"""Parallel calls of plain functions: what is written when, and what is in doubt meanwhile."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from agents.loop import call_record
from agents.models import RunEvent
from agents.models import ToolCall as ToolCallRow
from heartbit_site.base import orm
from heartbit_site.base.orm import OrmExecutor
from heartbit_site.base.toolspec import Effect, spec_of
from tests.runs.holding import claimant, pool
from tests.runs.serving import serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    import pytest

    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace
    from heartbit_site.base.toolspec import ToolSpec

__all__ = ["claimant", "pool"]

WAIT_SECONDS = 10


def once(name: str, function: Callable[[], object]) -> ToolSpec:
    return spec_of(function, name=name, effect=Effect.AT_MOST_ONCE)


async def times(run_id: UUID, kind: str) -> list[datetime]:
    """When the events of a type were written; those of one write have one time."""
    rows = RunEvent.objects.filter(run_id=run_id, type=kind).order_by("seq")
    return await orm.run_in_thread(lambda: [row.at for row in rows])


async def test_calls_that_begin_together_are_announced_and_settled_in_one_write_each(
    workspace: Workspace, pool: Pool, claimant: Claimant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_record, "LINGER_SECONDS", WAIT_SECONDS)  # however busy the machine is
    meeting = threading.Barrier(3, timeout=WAIT_SECONDS)

    def meet() -> str:
        """Wait for the others."""
        meeting.wait()
        return "met"

    specs = [once(f"meet_{number}", meet) for number in range(3)]
    run_id = await serve(workspace, pool, claimant, specs)
    started, finished = await times(run_id, "tool.started"), await times(run_id, "tool.finished")
    assert (len(started), len(set(started))) == (3, 1)
    assert (len(finished), len(set(finished))) == (3, 1)


async def test_a_result_does_not_wait_for_a_call_that_takes_longer(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    seen: list[int] = []

    def quick() -> str:
        """End at once."""
        return "quick"

    def slow() -> str:
        """End once the other result is in the journal."""
        settled = ToolCallRow.objects.filter(run__workspace=workspace, tool="quick", status="ok")
        deadline = threading.Event()
        for _ in range(WAIT_SECONDS * 100):
            if settled.exists():
                break
            deadline.wait(0.01)
        seen.append(settled.count())
        return "slow"

    await serve(workspace, pool, claimant, [once("slow", slow), once("quick", quick)])
    assert seen == [1]


async def test_a_call_without_a_thread_has_not_begun(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    """The second one waits for the only thread, and nothing is said of it before it has that."""
    seen: list[str] = []

    def look() -> str:
        """See what is said of the calls."""
        rows = ToolCallRow.objects.filter(run__workspace=workspace).order_by("call_id")
        seen.append(" ".join(row.status for row in rows))
        return "looked"

    executor = OrmExecutor(1, name="only")
    try:
        specs = [once("first", look), once("second", look)]
        await serve(workspace, pool, claimant, specs, executor=executor)
    finally:
        executor.shutdown()
    assert sorted(seen) == ["ok started", "started pending"]
