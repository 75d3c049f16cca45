"""Engine of a claimed run, chosen by the run's kind.

A new kind of run needs an engine in ``agents.loop``, a builder, and a line in ``ENGINES``
(``docs/contributing/add-a-kind-of-run.md``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from agents.choices import RunKind
from agents.definitions import snapshot
from agents.llm.pricing import cost
from agents.llm.wrappers.budget import BudgetedModel
from agents.loop.agent_engine import AgentEngine
from agents.loop.ports import Ports
from agents.loop.tool_call_engine import ToolCallEngine
from agents.runtime.accounts import Accounts
from agents.runtime.budgets import Budgets
from agents.runtime.decision_rights import revoked_right_lookup
from agents.runtime.definitions import Definitions
from agents.runtime.grants import grant_lookup
from agents.runtime.stopped_tools import StoppedTools, WorkspaceStoppedTools
from agents.runtime.toolbox import RunToolbox, context_factory, offered_tools
from agents.runtime.unread import with_unread_count

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.loop.protocol import Engine
    from agents.runs.pool import Pool
    from agents.runtime.active_run import ActiveRun
    from agents.runtime.dependencies import RuntimeDependencies


class EngineDependencies:
    """Sources from which the engines of a process are built."""

    def __init__(self, pool: Pool, outside: RuntimeDependencies, stopped: StoppedTools) -> None:
        self.pool = pool
        self.outside = outside
        self.agents = Definitions(pool, snapshot.read)
        self.accounts = Accounts(pool)
        self.budgets = Budgets(pool, outside.reservations)
        self._stopped = stopped

    async def toolbox(self, held: ActiveRun, definition: AgentDefinition) -> RunToolbox:
        """Return the toolbox of a run's version."""
        outside, claimed = self.outside, held.claimed
        offer = offered_tools(definition, outside.registry, is_child=claimed.parent_id is not None)
        return RunToolbox(
            await with_unread_count(self.pool, definition.agent_id, offer),
            definition,
            approve=claimed.approve,
            granted=grant_lookup(self.pool, definition.agent_id, claimed),
            lost=revoked_right_lookup(self.pool, claimed),
            stopped=WorkspaceStoppedTools(self._stopped, claimed.workspace_id),
            context=context_factory(
                workspace_id=claimed.workspace_id,
                run_id=claimed.id,
                root_id=claimed.root_id,
                agent=claimed.agent,
                http=outside.guarded,
            ),
            executor=outside.executor,
        )


#: Builds the engine of a run. Raises HeartbitError if its definition cannot be executed.
Build = Callable[["ActiveRun", EngineDependencies], Awaitable["Engine"]]


async def build_agent(held: ActiveRun, sources: EngineDependencies) -> AgentEngine:
    """Build the engine of an agent's run, with its budgeted model and its tools."""
    outside, claimed = sources.outside, held.claimed
    definition = await sources.agents.get(claimed.version_id)
    toolbox = await sources.toolbox(held, definition)
    account_of = partial(sources.accounts.get, claimed.workspace_id)
    names = (held.journaled.state.model, *definition.fallback_models)
    model = await outside.models.get(names, definition.retry, account_of)
    strong = await outside.models.strong(definition, account_of)
    purse = sources.budgets.purse(claimed.workspace_id, definition.agent_id, str(claimed.id))
    ports = Ports(
        BudgetedModel(model, purse, cost),
        toolbox,
        held.window,
        cost,
        strong=None if strong is None else BudgetedModel(strong, purse, cost),
        settled=purse.release,
    )
    return AgentEngine(held.journaled, definition, ports, held.standing)


async def build_tool_call(held: ActiveRun, sources: EngineDependencies) -> ToolCallEngine:
    """Build the engine of a single tool call, with the tools and limits of the agent's version."""
    definition = await sources.agents.get(held.claimed.version_id)
    toolbox = await sources.toolbox(held, definition)
    return ToolCallEngine(held.journaled, definition, toolbox, held.standing)


ENGINES: Final[dict[str, Build]] = {
    RunKind.AGENT: build_agent,
    RunKind.TOOL_CALL: build_tool_call,
}
