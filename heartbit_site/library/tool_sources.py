"""The tools of a program's agents: functions, classes, or names of installed tools."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agents.definitions import validation_messages
from agents.definitions.spec import ToolGrant
from agents.definitions.validation_messages import sentence_of
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import Origin, ToolSpec, spec_of
from tools.definitions.registry import marked, registry

Tool = str | ToolSpec | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ResolvedTool:
    """A tool with the settings of one agent.

    Attributes:
        name: Its name in the registry.
        spec: None for an installed tool.
        settings: The keys of a tool's table in ``heartbit.toml``, without its name.
    """

    name: str
    spec: ToolSpec | None
    settings: Mapping[str, Any] = field(default_factory=dict)


def bind(
    tool: Tool,
    *,
    approval: str = "",
    approval_when: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> ResolvedTool:
    """Return a tool with settings for one agent.

    Args:
        tool: As in ``Heartbit.agent``.
        approval: ``always``, ``never``, or ``when`` its arguments match a rule; empty for the
            agent's own setting.
        approval_when: The rule: a JSON Schema of the arguments; it implies ``when``.
        defaults: Arguments used where the model gives none.

    Raises:
        ConfigurationError: As for ``resolve_tools``, or the function yields several tools.
    """
    settings: dict[str, Any] = {}
    if approval or approval_when is not None:
        settings["approval"] = approval or "when"
    if approval_when is not None:
        settings["approval_when"] = dict(approval_when)
    if defaults:
        settings["defaults"] = dict(defaults)
    plain, *more = resolve_tools(tool)
    if more:
        names = ", ".join(one.name for one in (plain, *more))
        raise ConfigurationError(f"Bind one tool at a time, by its spec; this yields {names}.")
    _check(plain.name, settings)
    return ResolvedTool(plain.name, plain.spec, settings)


def resolve_tools(tool: Tool | ResolvedTool) -> tuple[ResolvedTool, ...]:
    """Return the tools of a function, class, specification or name.

    Raises:
        ConfigurationError: The value is not a tool and cannot become one.
    """
    match tool:
        case ResolvedTool():
            return (tool,)
        case str():
            return (ResolvedTool(tool, None),)
        case ToolSpec():
            return (ResolvedTool(tool.name, tool),)
        case _ if callable(tool):
            specs = tuple(marked([tool])) or (_specification(tool),)
            return tuple(ResolvedTool(spec.name, spec) for spec in specs)
    raise ConfigurationError(
        f"{tool!r} is not a tool: give a function, a class marked with @tool, or an installed "
        "tool's name."
    )


@functools.cache  # a function is one tool, even if it is given several times
def _specification(function: Callable[..., Any]) -> ToolSpec:
    if isinstance(function, type) or not hasattr(function, "__name__"):
        raise ConfigurationError(f"{function!r} is not a tool: mark its class with @tool.")
    return spec_of(function)


def register(tools: tuple[ResolvedTool, ...]) -> None:
    """Add the program's own tools to the process's registry.

    Raises:
        ConfigurationError: Another tool has that name.
    """
    for tool in tools:
        if tool.spec is not None:
            registry.register(replace(tool.spec, origin=Origin.PROGRAM))


def _check(name: str, settings: Mapping[str, Any]) -> None:
    """Check a tool's settings, but not whether it is installed."""
    for path, message in validation_messages.check(ToolGrant, {"name": name, **settings}, ()):
        if path != ("name",):
            raise ConfigurationError(f"Tool {name!r}: {sentence_of(path, message)}")
