"""Faults of a graph: each a sentence that names the node or the edge, and its mend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from agents.workflows.spec.edge import listed
from heartbit_site.base.errors import ConfigurationError
from tools.texts.near_names import closest

#: Place of a fault in the graph's settings, such as ``("nodes", 2, "when")``.
Place = tuple[str | int, ...]
#: Adds a fault of a subject: the end of a sentence, and the place within that of the subject.
AddFault = Callable[..., None]
MAX_SHOWN: Final = 20
MAX_FAULTS: Final = 100
#: Faults that suggest a name: to compare names takes long.
MAX_HINTS: Final = 5
#: Names that are compared with an unknown one, times its length.
_COMPARED: Final = 16_000
_SHORT: Final = 16


@dataclass(frozen=True, slots=True)
class GraphFault:
    """A fault of a graph."""

    place: Place
    sentence: str


class InvalidGraphError(ConfigurationError):
    """A graph has faults.

    Attributes:
        faults: The faults that were found.
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

    def names_of(self, work: str) -> AbstractSet[str] | None:
        """Return the names for a kind of work; None: any name."""
        if work in ("function", "validator"):
            return None if self.functions is None else self.functions.keys()
        names = {"agent": self.agents, "workflow": self.workflows, "tool": self.tools}
        return names.get(work)


class TooManyFaultsError(Exception):
    """A list of faults is full."""


@dataclass(slots=True)
class FaultList:
    """List of faults that checks add to, up to ``MAX_FAULTS``."""

    _found: dict[GraphFault, None] = field(default_factory=dict)
    _hints: int = 0

    @property
    def found(self) -> list[GraphFault]:
        """Faults in the order in which they were found."""
        return list(self._found)

    def add(self, place: Place, sentence: str) -> None:
        """Add a fault, unless it is known.

        Raises:
            TooManyFaultsError: There are enough; the last one says so.
        """
        fault = GraphFault(place, sentence)
        if fault in self._found:
            return
        if len(self._found) == MAX_FAULTS:
            more = f"The graph has more than {MAX_FAULTS} faults: mend these first."
            self._found[GraphFault((), more)] = None
            raise TooManyFaultsError
        self._found[fault] = None

    def about(self, subject: str, *place: str | int) -> AddFault:
        """Return a function that adds faults of one subject: ends of sentences, and settings."""
        return lambda end, *setting: self.add((*place, *setting), f"{subject} {end}")

    def hint(self, name: str, names: Collection[str]) -> str:
        """Return the end of a sentence about an unknown name; the first ones suggest known names.

        Args:
            name: The unknown name.
            names: The known names; a set is listed in alphabetical order.
        """
        self._hints += 1
        if self._hints > MAX_HINTS:
            return "."
        known = sorted(names) if isinstance(names, AbstractSet) else list(names)
        near = closest(name, islice(known, _COMPARED // max(_SHORT, len(name))))
        if near:
            return f"; did you mean {near[0]}?"
        return f"; there are: {listed(known) or 'none yet'}"
