"""Engine of a claimed run, chosen by the run's kind.

A new kind of run needs an engine in ``agents.loop``, a builder, and its entry in
``agents.definitions.kinds`` (``docs/contributing/add-a-kind-of-run.md``).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from agents.definitions import snapshot
from agents.definitions.definition import AgentDefinition
from agents.llm.messages import StreamEvent
from agents.llm.program_models import find as find_model
from agents.llm.program_models import is_program_model
from agents.llm.wrappers.budget import BudgetedModel
from agents.llm.wrappers.pictured import PicturedModel
from agents.loop import delegation, extraction
from agents.loop.agent_engine import AgentEngine
from agents.loop.agent_state import AgentState
from agents.loop.client_tools import client_tools
from agents.loop.extraction_engine import ExtractionEngine
from agents.loop.hand_over_engine import HandOverEngine
from agents.loop.ports import Ports
from agents.loop.protocol import Engine
from agents.loop.tool_call_engine import ToolCallEngine
from agents.runs.pool import Pool
from agents.runtime.execution.active_run import ActiveRun
from agents.runtime.execution.definitions import Definition, Definitions, Read
from agents.runtime.execution.dependencies import RuntimeDependencies
from agents.runtime.execution.known_memories import known_at_start
from agents.runtime.files.pictures import picture_reader
from agents.runtime.memories.extraction_source import load_source
from agents.runtime.memories.hand_over import hand_over
from agents.runtime.memories.store_extracted import store_extracted
from agents.runtime.providers.accounts import Accounts
from agents.runtime.providers.budgets import Budgets
from agents.runtime.providers.spending_terms import RunScope, SpendingTerms, unpriced_model
from agents.runtime.rights.decision_rights import revoked_right_lookup
from agents.runtime.rights.grants import grant_lookup
from agents.runtime.rights.lookups import CallLookups
from agents.runtime.rights.mixed_data import labels_read, mixed_data_rule
from agents.runtime.rights.person import credential_lookup, permission_lookup, person_lookup
from agents.runtime.toolset.big_results import READER, BigResults
from agents.runtime.toolset.call_context import context_factory
from agents.runtime.toolset.offer import offered_tools, required_permissions
from agents.runtime.toolset.program_tools import refuse_without_tools_of_version
from agents.runtime.toolset.progress import ToolProgress
from agents.runtime.toolset.stopped_tools import StoppedTools, WorkspaceStoppedTools
from agents.runtime.toolset.toolbox import RunToolbox
from agents.runtime.toolset.unread import with_unread_count
from heartbit_site.base import orm
from heartbit_site.base.toolspec import ToolContext, ToolSpec
from memory.providers.calls import provider_name
from tools.definitions.registry import definition_hash, resolve
from tools.mcp.specs import server_tools


class EngineDependencies:
    """Sources from which the engines of a process are built."""

    def __init__(
        self, pool: Pool, dependencies: RuntimeDependencies, stopped: StoppedTools
    ) -> None:
        self.pool = pool
        self.dependencies = dependencies
        self._definitions: dict[Read[Any], Definitions[Any]] = {}
        self.agents = self.definitions(snapshot.read)
        self.accounts = Accounts(pool)
        self.budgets = Budgets(pool, dependencies.reservations)
        self._stopped = stopped

    def definitions(self, read: Read[Definition]) -> Definitions[Definition]:
        """Return the process's cache of the versions that a kind's function reads."""
        return self._definitions.setdefault(read, Definitions(self.pool, read))

    async def toolbox(
        self,
        active: ActiveRun,
        definition: AgentDefinition,
        own: Mapping[str, ToolSpec] = MappingProxyType({}),
    ) -> RunToolbox:
        """Return the toolbox of a run's version.

        Args:
            active: The run.
            definition: Definition of its version.
            own: Further tools, by name, which its kind of run or its client brings; they replace
                none of the version's.
        """
        dependencies, claimed = self.dependencies, active.claimed
        person = person_lookup(self.pool, claimed)
        permissions = permission_lookup(claimed, person)
        required = required_permissions(definition, dependencies.registry)
        offer = offered_tools(
            definition,
            await self._tools(claimed.workspace_id, definition),
            is_child=claimed.parent_id is not None and not definition.delegates,
            has_parent=claimed.parent_id is not None,
            permissions=await permissions(required) if required else frozenset(),
        )
        further = {name: spec for name, spec in own.items() if name not in offer.specs}
        offer.specs.update(further)
        offer.hashes.update((name, definition_hash(spec)) for name, spec in further.items())
        is_lacking = is_program_model(definition.model) and find_model(definition.model) is None
        if is_lacking or any(tool.name not in offer.specs for tool in definition.tools):
            check = partial(refuse_without_tools_of_version, definition.version_id, claimed.id)
            await orm.read_in_thread(check)

        def find(name: str) -> ToolSpec | None:
            return resolve(offer.specs, name) or resolve(dependencies.registry, name)

        context_of = context_factory(
            workspace_id=claimed.workspace_id,
            run_id=claimed.id,
            root_id=claimed.root_id,
            agent=claimed.agent,
            http=dependencies.guarded_http,
            user_id=claimed.user_id,
            conversation_id=claimed.conversation_id,
        )
        read = partial(labels_read, claimed.root_id, find)

        def context(call_id: str) -> ToolContext:
            emit = ToolProgress(active.publisher, call_id)
            return replace(context_of(call_id), labels_read=read, emit=emit)

        return RunToolbox(
            await with_unread_count(self.pool, definition.agent_id, offer),
            definition,
            approve=claimed.approve,
            lookups=CallLookups(
                granted=grant_lookup(self.pool, definition.agent_id, claimed),
                lost=revoked_right_lookup(self.pool, claimed),
                credentials=credential_lookup(claimed, person),
                permissions=permissions,
                person=person,
                mixed=mixed_data_rule(
                    self.pool,
                    claimed.root_id,
                    setting=definition.mixed_data,
                    find=find,
                ),
            ),
            stopped=WorkspaceStoppedTools(self._stopped, claimed.workspace_id),
            results=BigResults(
                claimed.workspace_id,
                claimed.id,
                claimed.root_id,
                definition.max_tool_output_bytes,
            ),
            reader=dependencies.registry.get(READER),
            context=context,
            executor=dependencies.executor,
            interpreter=dependencies.interpreter,
        )

    async def _tools(
        self, workspace_id: int, definition: AgentDefinition
    ) -> Mapping[str, ToolSpec]:
        """Return this process's tools, and the bound tools of the workspace's MCP servers."""
        here = self.dependencies.registry
        elsewhere = [tool.name for tool in definition.tools if tool.name not in here]
        if not elsewhere:
            return here
        found = await orm.read_in_thread(
            partial(server_tools, workspace_id, elsewhere, self.dependencies.mcp)
        )
        return ChainMap(found, dict(here))


#: Builds the engine of a run. Raises HeartbitError if its definition cannot be executed.
Build = Callable[["ActiveRun", EngineDependencies], Awaitable["Engine"]]


async def build_agent(active: ActiveRun, sources: EngineDependencies) -> AgentEngine:
    """Build the engine of an agent's run, with its budgeted model and its tools."""
    dependencies, claimed = sources.dependencies, active.claimed
    definition = await sources.agents.get(claimed.version_id)
    state: AgentState = active.journaled.state
    if state.response_schema is not None:
        definition = definition.model_copy(update={"response_schema": state.response_schema})
    if claimed.parent_id is not None and not state.may_delegate:
        definition = delegation.as_sub_agent(definition)
    toolbox = await sources.toolbox(active, definition, client_tools(state.client_tools))
    account_of = partial(sources.accounts.get, claimed.workspace_id)
    names = (active.journaled.state.model, *definition.fallback_models)
    counted = RunScope(definition.agent_id, claimed.user_id, claimed.root_id)
    terms, limited = await _money(sources, claimed.workspace_id, counted, definition)
    is_accepted = terms.knows_price if limited else bool
    model = await dependencies.models.get(
        names, definition.retry, account_of, is_accepted=is_accepted
    )
    strong = await dependencies.models.strong(definition, account_of, is_accepted=is_accepted)
    cost = terms.cost
    allowance = sources.budgets.allowance(claimed.workspace_id, counted, str(claimed.id))
    shown = partial(PicturedModel, read=picture_reader(claimed.workspace_id))
    ports = Ports(
        BudgetedModel(shown(model), allowance, cost),
        toolbox,
        active.publisher,
        cost,
        strong_model=None if strong is None else BudgetedModel(shown(strong), allowance, cost),
        settled=allowance.release,
        journaling=dependencies.models.pace.journaling,
        known=await known_at_start(active, definition),
        unpriced=unpriced_model(model.name, limited, terms),
    )
    return AgentEngine(active.journaled, definition, ports, active.gate)


async def _money(
    sources: EngineDependencies, workspace_id: int, counted: RunScope, definition: AgentDefinition
) -> tuple[SpendingTerms, str]:
    """Return what a run may spend, and its limit in US dollars in words; empty: none."""
    terms = await sources.budgets.terms(workspace_id)
    if definition.max_run_cost_usd is not None:
        return terms, f"max_run_cost_usd of {definition.name}"
    has_limit = await sources.budgets.limit_money(workspace_id, counted)
    return terms, "a budget in US dollars" if has_limit else ""


async def build_tool_call(active: ActiveRun, sources: EngineDependencies) -> ToolCallEngine:
    """Build the engine of a single tool call, with the tools and limits of the agent's version."""
    definition = await sources.agents.get(active.claimed.version_id)
    toolbox = await sources.toolbox(active, definition)
    return ToolCallEngine(active.journaled, definition, toolbox, active.gate)


class _Unpublished:
    """Live output of an extraction: discarded, so that no stream stores the conversation."""

    def delta(self, turn: int, event: StreamEvent) -> None:
        """Publish nothing."""

    def restarted(self, turn: int) -> None:
        """Publish nothing."""


async def build_extraction(
    active: ActiveRun, sources: EngineDependencies
) -> ExtractionEngine | HandOverEngine:
    """Build the engine that extracts memories from the claimed run's source run.

    If another memory provider is plugged in, that provider gets the conversation instead.
    """
    dependencies, claimed = sources.dependencies, active.claimed
    version = await sources.agents.get(claimed.version_id)
    definition = extraction.definition_for(version)
    find = partial(resolve, dependencies.registry)
    source = await orm.read_in_thread(partial(load_source, claimed.id, find))
    if provider_name():
        give = None if source.is_silent else partial(hand_over, source)
        return HandOverEngine(active.journaled, definition, active.gate, give=give)
    known = "" if source.is_silent else await orm.run_in_thread(source.block)
    account_of = partial(sources.accounts.get, claimed.workspace_id)
    first = version.extraction_model or source.run.model
    counted = RunScope(definition.agent_id, claimed.user_id, claimed.root_id)
    terms, limited = await _money(sources, claimed.workspace_id, counted, definition)
    model = await dependencies.models.get(
        (first, *definition.fallback_models),
        definition.retry,
        account_of,
        is_accepted=terms.knows_price if limited else bool,
    )
    cost = terms.cost
    allowance = sources.budgets.allowance(claimed.workspace_id, counted, str(claimed.id))
    ports = Ports(
        BudgetedModel(model, allowance, cost),
        await sources.toolbox(active, definition),
        _Unpublished(),
        cost,
        settled=allowance.release,
        journaling=dependencies.models.pace.journaling,
        known=known,
    )
    return ExtractionEngine(
        active.journaled,
        definition,
        ports,
        active.gate,
        store=None if source.is_silent else partial(store_extracted, source),
    )
