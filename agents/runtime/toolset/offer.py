"""Tools offered to a run: those of its version, as published."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agents.definitions.definition import BLACKBOARD, AgentDefinition, BoundTool
from agents.llm.messages import ToolDefinition
from agents.loop import delegation, script_tools, skills
from heartbit_site.base.toolspec import ToolSpec
from tools.definitions.registry import definition_hash

logger = logging.getLogger(__name__)

_CHANGED: Final = "tool %s of agent %s changed since it was published: publish the agent again"
#: Binding of the tools that no version binds, such as ``delegate_task``.
UNBOUND: Final = BoundTool(name="", pinned="")


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Tools of one run by name, in a stable order, with their published hashes.

    Attributes:
        withheld: Permissions that the person behind the run lacks, by the tool that needs them.
    """

    specs: dict[str, ToolSpec]
    hashes: dict[str, str]
    withheld: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Tools as offered to the model: all, or in code mode those for scripts."""
        in_code_mode = script_tools.RUN in self.hashes
        shown = script_tools.NAMES.union(skills.TOOLS)  # an agent's prompt names the skills' tools
        return tuple(
            ToolDefinition(spec.name, spec.description, dict(spec.parameters))
            for spec in self.specs.values()
            if not in_code_mode or spec.name in shown
        )


def offered_tools(
    definition: AgentDefinition,
    tools: Mapping[str, ToolSpec],
    *,
    is_child: bool,
    has_parent: bool,
    permissions: frozenset[str] | None = None,
) -> OfferedTools:
    """Return the tools that a run of this version is offered.

    A tool whose definition changed since the version was published is left out: the model is
    offered exactly what was published. A sub-agent cannot delegate (the hierarchy is flat).

    Args:
        definition: Definition of the version.
        tools: Tools by name. A process that calls them passes its registry; one that only shows or
            reads calls ``tools.definitions.catalogue.catalogue``.
        is_child: True for a sub-agent's run.
        has_parent: True for any run below another one: it shares the tree's blackboard.
        permissions: ``required_permissions`` that the person behind the run has: tools that require
            another one are left out. None: the tools are only shown or read.
    """
    offer = OfferedTools({}, {})
    if not is_child:
        _add(offer, delegation.team_tools(definition))
    _add(offer, _skill_tools(definition, tools))
    if has_parent:
        own = {*definition.turned_off, *(tool.name for tool in definition.tools)}
        _add(offer, (tools[one] for one in BLACKBOARD if one in tools and one not in own))
    for tool in definition.tools:
        known = tools.get(tool.name)
        needed = permissions_of(tool, known)
        if permissions is not None and not needed <= permissions:
            offer.withheld[tool.name] = needed - permissions
            continue
        if known is None or definition_hash(known) != tool.pinned:
            logger.warning(_CHANGED, tool.name, definition.name)
            continue
        offer.specs[tool.name] = _with_defaults(known, tool.defaults)
        offer.hashes[tool.name] = tool.pinned
    if definition.code_mode and offer.specs:
        _add(offer, script_tools.script_tools(offer.specs).values())
    return offer


def _add(offer: OfferedTools, specs: Iterable[ToolSpec]) -> None:
    for spec in specs:
        offer.specs[spec.name] = spec
        offer.hashes[spec.name] = definition_hash(spec)


def _skill_tools(definition: AgentDefinition, tools: Mapping[str, ToolSpec]) -> Iterator[ToolSpec]:
    """Yield the tools that read skills, if the version has any, with the skills' names."""
    names = [skill.name for skill in definition.pinned_skills]
    for spec in (tools[name] for name in skills.TOOLS if names and name in tools):
        properties = spec.parameters["properties"]
        named = properties | {"name": properties["name"] | {"enum": names}}
        yield replace(spec, parameters={**spec.parameters, "properties": named})


def required_permissions(
    definition: AgentDefinition, tools: Mapping[str, ToolSpec]
) -> frozenset[str]:
    """Return the permissions that the tools of a version, or their bindings, require."""
    found = (permissions_of(tool, tools.get(tool.name)) for tool in definition.tools)
    return frozenset[str]().union(*found)


def permissions_of(bound: BoundTool, spec: ToolSpec | None) -> frozenset[str]:
    """Return the permissions that a tool and its binding require."""
    return frozenset({bound.requires, "" if spec is None else spec.requires} - {""})


def _with_defaults(spec: ToolSpec, defaults: Mapping[str, Any]) -> ToolSpec:
    """Return the tool with the binding's defaults, which the model may omit."""
    if not defaults:
        return spec
    required = [name for name in spec.parameters.get("required", ()) if name not in defaults]
    return replace(spec, defaults=defaults, parameters={**spec.parameters, "required": required})
