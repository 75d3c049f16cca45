"""Losses of an import: settings of rows that it removes, because the file leaves them out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from agents.actions.create_default_team import PROMPT
from agents.definitions.kinds import kind_of
from agents.definitions.spec import DefinitionSpec, ToolGrant
from agents.models import Agent
from agents.reads.agents import table_of
from heartbit_site.base.models import Workspace
from heartbit_site.base.spec import Spec
from heartbit_site.config.build import Configuration
from scheduling.models import Schedule
from scheduling.spec import KINDS, ScheduleSpec
from scheduling.spec import SETTINGS as SCHEDULE_SETTINGS
from tools.models import McpServer
from tools.server_spec import McpServerSpec

if TYPE_CHECKING:
    Table = Mapping[str, Any]

#: A schedule of another kind loses no time, and one without ``begins_at`` keeps its own.
_TIMES: Final = {*KINDS, "begins_at"}


def find_losses(workspace: Workspace, configuration: Configuration) -> tuple[str, ...]:
    """Return a sentence for each agent, MCP server and schedule that loses settings.

    Settings with another value are changes. Losses are those that the file resets to their
    defaults because it leaves them out, and elements that are missing in its lists: tools, team
    members, skills, recipients.
    """
    prompt = {"system_prompt": PROMPT}  # of an orchestrator that has none of its own

    def defaults(spec: DefinitionSpec) -> Table:
        return _defaults(kind_of(spec).spec, prompt)

    agents = Agent.objects.filter(workspace=workspace, origin="")
    rows = {row.name: row for row in agents.prefetch_related("bindings", "team")}
    found = [
        (
            spec.name,
            _lost(table_of(rows[spec.name]), spec.model_dump(), defaults(spec)),
        )
        for spec in configuration.everyone
        if spec.name in rows
    ]
    servers = {row.name: row for row in McpServer.objects.filter(workspace=workspace)}
    found += [
        (
            f"MCP server {spec.name}",
            _lost(servers[spec.name].settings(), spec.model_dump(), _defaults(McpServerSpec)),
        )
        for spec in configuration.mcp_servers
        if spec.name in servers
    ]
    schedules = {row.name: row for row in Schedule.objects.filter(workspace=workspace)}
    found += [
        (
            f"schedule {spec.name}",
            _lost(
                {name: getattr(schedules[spec.name], name) for name in SCHEDULE_SETTINGS},
                spec.model_dump(mode="json", exclude=_TIMES),
                _defaults(ScheduleSpec),
            ),
        )
        for spec in configuration.schedules
        if spec.name in schedules
    ]
    return tuple(f"{name}: {', '.join(lost)}" for name, parts in found if (lost := list(parts)))


def _defaults(spec: type[Spec], more: Table | None = None) -> Table:
    return {**{name: spec.default_of(name) for name in spec.model_fields}, **(more or {})}


def _lost(before: Table, after: Table, defaults: Table) -> Iterator[str]:
    for name in (name for name in before if name in after and name != "enabled"):
        old, new = before[name], after[name]
        if isinstance(old, list):
            kept = {_label(element): element for element in new}
            gone = [_label(element) for element in old if _label(element) not in kept]
            if gone:
                yield f"{name} without {' and '.join(gone)}"
            for element in old:
                if name == "tools" and element["name"] in kept:
                    grant = kept[element["name"]]
                    lost = _lost(element, grant, _defaults(ToolGrant))
                    yield from (f"{element['name']}.{each}" for each in lost)
        elif old != new and new == defaults[name]:
            yield f"{name} back to its default"


def _label(element: Any) -> str:
    """Return the name of a list's element, or what it is as JSON."""
    if isinstance(element, dict):
        name = element.get("name")
        return name if isinstance(name, str) else json.dumps(element, sort_keys=True)
    return str(element)
