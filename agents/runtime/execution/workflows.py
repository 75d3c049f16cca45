"""Building of the engine of a workflow's run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from agents.definitions import snapshot
from agents.definitions.definition import AgentDefinition
from agents.definitions.kinds import KINDS
from agents.errors import ProgramToolsError
from agents.loop.workflow.engine import WorkflowEngine
from agents.loop.workflow.node_tool import LONGEST_SECONDS
from agents.loop.workflow.nodes import node_tools
from agents.loop.workflow.toolbox import NodeToolbox
from agents.models.version import MOST_RESULT_BYTES
from agents.runs.pool import Pool, call
from agents.runtime.execution.active_run import ActiveRun
from agents.runtime.execution.engines import EngineDependencies
from agents.runtime.execution.installed_executors import installed_executors
from agents.runtime.toolset.big_results import read_stored
from agents.workflows.calls import CallInput
from agents.workflows.contents import RunData
from agents.workflows.executors.executor import Executor
from agents.workflows.executors.registry import UnknownExecutorError
from agents.workflows.graph import Graph, compile_graph
from agents.workflows.spec.graph import read_graph
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

MOST_INPUT_BYTES = 10_000_000
MAX_DEPTH = 8
_DEPTH = """
    WITH RECURSIVE up AS (
        SELECT parent_id, 0 AS depth FROM agents_run WHERE id = %s
        UNION ALL
        SELECT r.parent_id, up.depth + 1 FROM agents_run r JOIN up ON r.id = up.parent_id
        WHERE up.depth < %s)
    SELECT max(depth) AS depth FROM up
"""


@dataclass(frozen=True, slots=True)
class WorkflowDefinition:
    """A workflow's version, in the form that the engine reads.

    Attributes:
        tools: What the pipeline of tool calls reads of a definition.
        pins: Hash of the version of each agent and workflow that the nodes run, by name.
    """

    graph: Graph
    tools: AgentDefinition
    pins: Mapping[str, str]


def read(
    version_id: int, agent_id: int, name: str, content: Mapping[str, Any]
) -> WorkflowDefinition:
    """Return the definition in a stored snapshot.

    Raises:
        ConfigurationError: A newer Heartbit wrote the snapshot, or it is not a workflow's.
    """
    snapshot.check_format(version_id, name, content, KINDS["workflow"])
    graph = compile_graph(read_graph(content))
    tools = snapshot.read_tools(
        version_id,
        agent_id,
        name,
        content,
        max_tool_output_bytes=MOST_RESULT_BYTES,
        max_parallel=graph.spec.limits.activations,
        tool_timeout_seconds=int(LONGEST_SECONDS),
    )
    pins = {one["name"]: one["version"] for one in content["team"] if one["version"]}
    return WorkflowDefinition(graph, tools, pins)


async def build_workflow(active: ActiveRun, sources: EngineDependencies) -> WorkflowEngine:
    """Build the engine of a workflow's run, with its nodes as tools."""
    await _check_depth(active, sources.pool)
    definition = await sources.definitions(read).get(active.claimed.version_id)
    graph, state = definition.graph, active.journaled.state
    executors = find_executors(graph)
    inputs: dict[str, CallInput] = {}
    own = node_tools(graph, state.graph, inputs, executors, definition.pins)
    toolbox = await sources.toolbox(active, definition.tools, own)
    data = RunData(read_input(state.task), partial(read_stored, active.claimed.root_id))
    return WorkflowEngine(
        active.journaled,
        definition.tools,
        NodeToolbox(graph, data, state, toolbox, inputs, executors),
        active.gate,
    )


async def _check_depth(active: ActiveRun, pool: Pool) -> None:
    """Reject a workflow that runs itself, by way of others, without an end.

    Raises:
        ConfigurationError: The run has more ancestors than workflows may be nested.
    """
    if active.claimed.parent_id is None:
        return
    row = await call(pool, _DEPTH, (active.claimed.id, MAX_DEPTH + 1))
    if row is not None and row["depth"] > MAX_DEPTH:
        raise ConfigurationError(
            f"Workflows are nested more than {MAX_DEPTH} deep here: {active.claimed.agent} may run "
            "itself by way of others."
        )


def find_executors(graph: Graph) -> dict[str, Executor]:
    """Return the executor of each node that calls one, by the node's name.

    Raises:
        ProgramToolsError: This process has none of that name: another one may.
    """
    try:
        return {
            name: installed_executors().find(used)
            for name, node in graph.nodes.items()
            if (used := node.spec.executor)
        }
    except UnknownExecutorError as error:
        raise ProgramToolsError(str(error)) from error


def read_input(task: str) -> Any:
    """Return the input of a run: data if its task is a JSON object or list, else text."""
    if task[:1] not in ("{", "["):
        return task
    try:
        return parse_untrusted_json(task, max_bytes=MOST_INPUT_BYTES)
    except UntrustedJSONError:
        return task
