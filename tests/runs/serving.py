"""Serve the calls of a model's answer as a worker does, without a worker and without a model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import httpx

from agents.actions.runs import cancel_run
from agents.definitions import snapshot
from agents.llm.messages import ToolCall
from agents.loop.agent_state import AgentState
from agents.loop.effect_gate import EffectGate
from agents.loop.journaled import JournaledState
from agents.loop.tool_calls import ToolCallRunner
from agents.models import AgentVersion
from agents.runtime.rights.lookups import CallLookups
from agents.runtime.toolset.big_results import BigResults
from agents.runtime.toolset.call_context import context_factory
from agents.runtime.toolset.offer import OfferedTools
from agents.runtime.toolset.stopped_tools import StoppedTools, WorkspaceStoppedTools
from agents.runtime.toolset.toolbox import RunToolbox
from heartbit_site.base import orm
from tests.runs.holding import accept, answer, hold
from tools.definitions.registry import definition_hash

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace
    from heartbit_site.base.orm import OrmExecutor
    from heartbit_site.base.toolspec import ToolSpec
    from tools.credentials.choice import ChosenCredential


async def serve(
    workspace: Workspace,
    pool: Pool,
    claimant: Claimant,
    specs: Sequence[ToolSpec],
    *,
    cancel: bool = False,
    executor: OrmExecutor | None = None,
) -> UUID:
    """Serve one call of each tool, perhaps after a committed cancel; return the run's id."""
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    claimed, lease = await hold(pool, claimant, run_id)
    journaled = JournaledState(AgentState(), lease)
    for recorded in claimed.history():
        journaled.state.fold(recorded)
    calls = [ToolCall(f"c{number}", spec.name, "{}") for number, spec in enumerate(specs)]
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
            OfferedTools(
                {spec.name: spec for spec in specs},
                {spec.name: definition_hash(spec) for spec in specs},
            ),
            definition,
            approve=False,
            context=context_factory(
                workspace_id=workspace.pk, run_id=run_id, root_id=run_id, agent="solo", http=http
            ),
            executor=executor or orm.shared(),
            lookups=CallLookups(
                granted=granted,
                lost=lost,
                credentials=no_credentials,
                permissions=no_permissions,
                person=no_person,
                mixed=nothing_mixed,
            ),
            results=BigResults(workspace.pk, run_id, run_id, definition.max_tool_output_bytes),
            stopped=WorkspaceStoppedTools(StoppedTools(), workspace.pk),
        )
        gate = EffectGate(_proven, lambda: None)
        assert not await ToolCallRunner(journaled, definition, toolbox, gate).run_open_calls()
    assert not journaled.state.open_calls()
    return run_id


async def no_person() -> int | None:
    """Return None: these runs act for nobody."""
    return None


async def no_credentials(_spec: ToolSpec, _names: object) -> dict[str, ChosenCredential]:
    """Return none: these tools need none."""
    return {}


async def nothing_mixed(_spec: ToolSpec) -> str | None:
    """Return that no data is mixed."""
    return None


async def no_permissions(_wanted: frozenset[str]) -> frozenset[str]:
    """Return none: these tools require none."""
    return frozenset()


async def _proven() -> None:
    """It lives."""
