"""No tool acts once its run is cancelled: the intent, or the transaction, meets the cancel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import httpx
import pytest

from agents.actions.cancel_run import cancel_run
from agents.definitions import snapshot
from agents.llm.messages import ToolCall
from agents.loop.effect_gate import EffectGate
from agents.loop.journaled import JournaledState
from agents.loop.state import RunState
from agents.loop.tool_calls import CANCELLED_FIRST, ToolCallRunner
from agents.models import AgentVersion
from agents.models import ToolCall as ToolCallRow
from agents.runtime.stopped_tools import StoppedTools, WorkspaceStoppedTools
from agents.runtime.toolbox import OfferedTools, RunToolbox, context_factory
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import Effect, spec_of
from tests.runs.holding import accept, answer, claimant, hold, pool
from tools.registry import definition_hash

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

    specs = {effect.value: spec_of(rename, name=effect.value, effect=effect) for effect in effects}
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    claimed, lease = await hold(pool, claimant, run_id)
    journaled = JournaledState(RunState(), lease)
    for recorded in claimed.history():
        journaled.state.fold(recorded)
    calls = [ToolCall(f"c{number}", effect.value, "{}") for number, effect in enumerate(effects)]
    await journaled.record(answer(1, *calls))
    if cancel:
        await orm.run_in_thread(partial(cancel_run, workspace, run_id, reason="stop!"))
    version = await orm.run_in_thread(partial(AgentVersion.objects.get, pk=claimed.version_id))
    definition = snapshot.read(version.pk, version.agent_id, "solo", version.snapshot)

    async def granted(_tool: str, _pinned: str) -> int | None:
        return None

    async def lost(_key: str) -> str | None:
        return None

    async with httpx.AsyncClient() as http:
        toolbox = RunToolbox(
            OfferedTools(specs, {name: definition_hash(spec) for name, spec in specs.items()}),
            definition,
            approve=False,
            context=context_factory(
                workspace_id=workspace.pk, run_id=run_id, root_id=run_id, agent="solo", http=http
            ),
            executor=orm.shared(),
            granted=granted,
            lost=lost,
            stopped=WorkspaceStoppedTools(StoppedTools(), workspace.pk),
        )
        standing = EffectGate(_proven, lambda: None)
        assert not await ToolCallRunner(journaled, definition, toolbox, standing).run_open_calls()
    await orm.run_in_thread(workspace.refresh_from_db)
    rows = ToolCallRow.objects.filter(run_id=run_id).order_by("id")
    return await orm.run_in_thread(lambda: list(rows))


async def _proven() -> None:
    """It lives."""


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
    effects = (Effect.AT_MOST_ONCE, Effect.TRANSACTIONAL)
    calls = await served(workspace, pool, claimant, *effects, cancel=True)
    assert workspace.name == workspace.slug
    assert [call.status for call in calls] == ["refused", "refused"]
