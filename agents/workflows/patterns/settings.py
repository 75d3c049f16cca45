"""Settings that patterns share: the agents that take part, and the form of an expansion."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from agents.definitions.setting_types import Name
from heartbit_site.base.spec import Spec

#: Settings of a graph: ``nodes``, ``edges``, ``start`` and ``state``.
Content = dict[str, Any]
MAX_AGENTS: Final = 50
Count = Annotated[int, Field(ge=1, le=500)]


def _with_roles(given: object) -> object:
    """Return agents by name, each with its role, for a list of names."""
    if not isinstance(given, list):
        return given
    if not all(isinstance(name, str) for name in given):
        raise ValueError("must be a list of names of agents, or a table of their roles by name")
    if twice := next((name for name in given if given.count(name) > 1), None):
        raise ValueError(f'has "{twice}" twice; name each agent once')
    return dict.fromkeys(given, "")


#: Agents or workflows by name, each with its role for prompts; a list of names has no roles.
Agents = Annotated[
    dict[Name, str],
    Field(min_length=1, max_length=MAX_AGENTS),
    BeforeValidator(_with_roles, json_schema_input_type=list[str] | dict[str, str]),
]


class PatternSpec(Spec):
    """Base of the settings of a pattern."""

    @abstractmethod
    def expand(self) -> Content:
        """Return the graph of the pattern, in the form of a workflow's settings.

        Equal settings give equal graphs. The graph is validated as one that a person wrote.
        """
