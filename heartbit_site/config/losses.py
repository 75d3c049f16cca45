"""Losses of an import: settings that it removes because the file leaves them out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from agents.actions.write_agents import PROMPT
from agents.definitions.kinds import kind_of
from agents.definitions.spec import ToolGrant
from agents.models import Agent
from agents.reads.agents import table_of
from heartbit_site.base.models import Workspace
from heartbit_site.base.spec import Spec
from heartbit_site.config.build import Configuration
from heartbit_site.config.workspace_parts import read_parts
from scheduling.models import Schedule
from scheduling.spec import KINDS, ScheduleSpec
from scheduling.spec import SETTINGS as SCHEDULE_SETTINGS
from tools.models import McpServer
from tools.server_spec import McpServerSpec

Table = Mapping[str, Any]

#: A schedule that changes its kind loses no time, and one without ``begins_at`` keeps its own.
_TIMES: Final = {*KINDS, "begins_at"}


def find_losses(workspace: Workspace, configuration: Configuration) -> tuple[str, ...]:
    """Return a sentence for each agent, MCP server and schedule that loses settings.

    Settings with a different value are changes. Losses are settings that return to their defaults
    because the file leaves them out, and elements that are missing from its lists: tools, team
    members, skills, recipients.
    """
    agents = Agent.objects.filter(workspace=workspace, origin="")
    servers = McpServer.objects.filter(workspace=workspace)
    schedules = Schedule.objects.filter(workspace=workspace)
    found = [
        (spec.name, _lost(table_of(row), spec.model_dump(), _defaults(kind_of(spec).spec)))
        for spec, row in _known(configuration.everyone, agents.prefetch_related("bindings", "team"))
    ]
    found += [
        (
            f"MCP server {spec.name}",
            _lost(row.settings(), spec.model_dump(), _defaults(McpServerSpec)),
        )
        for spec, row in _known(configuration.mcp_servers, servers)
    ]
    stored = read_parts(workspace)
    for section, specs in configuration.parts.items():
        for spec in (spec for spec in specs if spec.name in stored[section]):
            before = stored[section][spec.name][1].model_dump()
            gone = _lost(before, spec.model_dump(), _defaults(type(spec)))
            found.append((f"{section[:-1].replace('_', ' ')} {spec.name}", gone))
    for spec, row in _known(configuration.schedules, schedules):
        before = {name: getattr(row, name) for name in SCHEDULE_SETTINGS}
        after = spec.model_dump(mode="json", exclude=_TIMES)
        found.append((f"schedule {spec.name}", _lost(before, after, _defaults(ScheduleSpec))))
    return tuple(f"{name}: {', '.join(lost)}" for name, parts in found if (lost := list(parts)))


def _known(specs: Iterable[Any], rows: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each spec of a name that has a row, with that row."""
    by_name = {row.name: row for row in rows}
    return ((spec, by_name[spec.name]) for spec in specs if spec.name in by_name)


def _defaults(spec: type[Spec]) -> Table:
    prompt = {"system_prompt": PROMPT}  # of an orchestrator without a team of its own
    return {name: spec.default_of(name) for name in spec.model_fields} | prompt


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
            yield f"{name} reset to its default"


def _label(element: Any) -> str:
    """Return the name of a list's element, or what it is as JSON."""
    if isinstance(element, dict):
        name = element.get("name")
        return name if isinstance(name, str) else json.dumps(element, sort_keys=True)
    return str(element)
