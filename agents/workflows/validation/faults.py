"""Faults of a graph: each a sentence that names the node or the edge, and its mend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from heartbit_site.base.errors import ConfigurationError

#: Place of a fault in the graph's settings, such as ``("nodes", 2, "when")``.
Place = tuple[str | int, ...]
MAX_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class GraphFault:
    """A fault of a graph."""

    place: Place
    sentence: str


class InvalidGraphError(ConfigurationError):
    """A graph has faults.

    Attributes:
        faults: All faults that were found.
    """

    def __init__(self, name: str, faults: list[GraphFault]) -> None:
        self.faults = faults
        sentences = "\n".join(f"- {fault.sentence}" for fault in faults[:MAX_SHOWN])
        more = len(faults) - MAX_SHOWN
        end = f"\n- and {more} more" if more > 0 else ""
        super().__init__(f"The workflow {name!r} cannot be used:\n{sentences}{end}")


@dataclass(frozen=True, slots=True)
class KnownFunction:
    """Types of a function that a node may call, as JSON Schema; None: unknown."""

    input: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Installation:
    """Names that the nodes of a graph may use; None: they are not checked.

    Attributes:
        functions: Executors by name.
    """

    functions: Mapping[str, KnownFunction] | None = None
    agents: frozenset[str] | None = None
    workflows: frozenset[str] | None = None
    tools: frozenset[str] | None = None

    def names_of(self, work: str) -> frozenset[str] | None:
        """Return the names for a kind of work; None: any name."""
        match work:
            case "function" | "validator":
                return None if self.functions is None else frozenset(self.functions)
            case "agent":
                return self.agents
            case "workflow":
                return self.workflows
            case "tool":
                return self.tools
        return None


@dataclass(slots=True)
class FaultList:
    """List of faults that checks add to."""

    found: list[GraphFault] = field(default_factory=list)

    def add(self, place: Place, sentence: str) -> None:
        """Add a fault, unless it is known."""
        fault = GraphFault(place, sentence)
        if fault not in self.found:
            self.found.append(fault)
