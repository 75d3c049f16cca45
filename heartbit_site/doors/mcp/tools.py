"""Agents and workflows as tools: their names, their input, and the task that a call gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Tool, ToolAnnotations

from agents.loop.delegation import input_parameters, input_text
from agents.models import Agent
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.query import fetch_one
from heartbit_site.doors.runs import takers

#: Of one of ``takers``, as text; a plain statement, because each call asks it.
_INPUT: Final = """
    SELECT NULLIF(version.snapshot -> 'input', 'null')
    FROM agents_agent agent
    JOIN agents_agentversion version ON version.id = agent.current_version_id
    WHERE agent.workspace_id = %s AND agent.name = %s AND agent.origin = '' AND agent.enabled
"""


class ArgumentsError(HeartbitError):
    """The arguments of a call do not fit its tool."""


def tools_of(access: Access) -> list[Tool]:
    """Return the agents and workflows of the caller's workspace as tools."""
    return [_tool(agent) for agent in takers(access).select_related("current_version")]


def task_of(access: Access, name: str, arguments: Mapping[str, Any] | None) -> str:
    """Return the task for a run of a call.

    Raises:
        MCPError: There is no such tool.
        ArgumentsError: The arguments do not fit its schema.
    """
    found = fetch_one(_INPUT, [access.workspace.pk, name], prepare=True)
    if found is None:
        raise MCPError(INVALID_PARAMS, f"There is no tool {name[:80]!r}: tools/list has them all.")
    [schema] = found
    parameters, wrapped = input_parameters(schema and json.loads(schema))
    given = dict(arguments or {})
    problems = validate(parameters, given)
    if problems:
        raise ArgumentsError(f"The arguments do not fit: {'; '.join(problems)}.")
    return input_text(given, wrapped)


def _tool(agent: Agent) -> Tool:
    parameters, _ = input_parameters(_snapshot(agent).get("input"))
    answer = _snapshot(agent).get("response_schema")
    return Tool(
        name=agent.name,
        description=agent.description or f"Give a task to {agent.name}.",
        input_schema=parameters,
        output_schema=answer if answer and answer.get("type") == "object" else None,
        annotations=ToolAnnotations(open_world_hint=True),
    )


def _snapshot(agent: Agent) -> Mapping[str, Any]:
    version: Any = agent.current_version
    found: Mapping[str, Any] = version.snapshot
    return found
