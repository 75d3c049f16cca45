"""No tool acts once its run is cancelled: the intent, or the transaction, meets the cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.loop.tool_calls import CANCELLED_FIRST
from agents.models import ToolCall as ToolCallRow
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import Effect, spec_of
from tests.runs.holding import claimant, pool
from tests.runs.serving import serve

if TYPE_CHECKING:
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
