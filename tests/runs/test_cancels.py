"""No tool acts once its run is cancelled: the intent, or the transaction, meets the cancel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from agents.actions.runs import cancel_run
from agents.journal.events import ToolStarted
from agents.loop import call_record
from agents.loop.unserved_calls import CANCELLED_FIRST
from agents.models import ToolCall as ToolCallRow
from agents.runs.lease import Lease
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from heartbit_site.base.orm import OrmExecutor
from heartbit_site.base.toolspec import Effect, spec_of
from tests.runs.holding import claimant, pool
from tests.runs.serving import serve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from agents.journal.events import Event, RecordedEvent
    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool

__all__ = ["claimant", "pool"]


async def served(
    workspace: Workspace,
    pool: Pool,
    claimant: Claimant,
    *effects: Effect,
    cancel: bool,
) -> list[ToolCallRow]:
    """Serve calls of tools that rename the workspace, perhaps after a committed cancel."""

    def rename() -> str:
        """Rename the workspace."""
        Workspace.objects.filter(pk=workspace.pk).update(name="renamed")
        return "renamed"

    specs = [
        spec_of(rename, name=f"{effect}_{number}", effect=effect)
        for number, effect in enumerate(effects)
    ]
    run_id = await serve(workspace, pool, claimant, specs, cancel=cancel)
    await orm.run_in_thread(workspace.refresh_from_db)
    rows = ToolCallRow.objects.filter(run_id=run_id).order_by("id")
    return await orm.run_in_thread(lambda: list(rows))


@pytest.mark.parametrize("effect", [Effect.IDEMPOTENT, Effect.AT_MOST_ONCE, Effect.TRANSACTIONAL])
async def test_a_tool_acts_only_while_nobody_has_cancelled_the_run(
    workspace: Workspace, pool: Pool, claimant: Claimant, effect: Effect
) -> None:
    [call] = await served(workspace, pool, claimant, effect, cancel=True)
    assert workspace.name == workspace.slug
    assert (call.status, call.result) == ("refused", CANCELLED_FIRST)
    [call] = await served(workspace, pool, claimant, effect, cancel=False)
    assert (workspace.name, call.status) == ("renamed", "ok")


async def test_nor_does_one_whose_neighbour_has_seen_the_cancel(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    """The cancel is in no tail any more: the state alone knows of it."""
    effects = (Effect.AT_MOST_ONCE, Effect.AT_MOST_ONCE, Effect.TRANSACTIONAL)
    calls = await served(workspace, pool, claimant, *effects, cancel=True)
    assert workspace.name == workspace.slug
    assert [call.status for call in calls] == ["refused"] * 3


@pytest.mark.parametrize("is_async", [True, False], ids=["on the loop", "in a thread"])
async def test_no_tool_acts_whose_intent_is_answered_after_the_cancel_was(
    workspace: Workspace,
    pool: Pool,
    claimant: Claimant,
    monkeypatch: pytest.MonkeyPatch,
    is_async: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    """The intent is committed, then the cancel: a busy loop, or thread, learns of it late."""
    monkeypatch.setattr(call_record, "FRESH_SECONDS", 0.0)
    acted: list[str] = []

    async def on_loop() -> str:
        """Act."""
        acted.append("loop")
        return "done"

    def in_thread() -> str:
        """Act."""
        acted.append("thread")
        return "done"

    def cancelled(run_id: UUID) -> None:
        cancel_run(workspace, run_id, reason="stop!")

    record, record_here = Lease.record, Lease.record_here

    async def late_record(lease: Lease, *events: Event) -> Sequence[RecordedEvent]:
        recorded = await record(lease, *events)
        if any(isinstance(event, ToolStarted) for event in events):
            await orm.run_in_thread(partial(cancelled, lease._run))
        return recorded

    def late_record_here(lease: Lease, folded: int, *events: Event) -> Sequence[RecordedEvent]:
        recorded = record_here(lease, folded, *events)
        if any(isinstance(event, ToolStarted) for event in events):
            orm.shared().submit(cancelled, lease._run).result()
        return recorded

    monkeypatch.setattr(Lease, "record", late_record)
    monkeypatch.setattr(Lease, "record_here", late_record_here)
    function = on_loop if is_async else in_thread
    spec = spec_of(function, name="act", effect=Effect.IDEMPOTENT)
    with OrmExecutor(1, name="tool") as executor:
        run_id = await serve(workspace, pool, claimant, [spec], executor=executor)
    [call] = await orm.run_in_thread(lambda: list(ToolCallRow.objects.filter(run_id=run_id)))
    assert not acted
    assert (call.status, call.result) == ("refused", CANCELLED_FIRST)
