"""Settings of an edge: its ends, and the condition under which it carries a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from agents.workflows.spec.values import Condition, NodeName, PlainSpec, Template

#: Kinds of edges.
EdgeKind = Literal["direct", "switch", "fan_out", "fan_in", "end"]
MAX_ENDS: Final = 1_000
Names = Annotated[list[NodeName], Field(min_length=1, max_length=MAX_ENDS)]
#: Sign between the ends of an edge in sentences and drawings.
ARROW: Final = " → "
_SHOWN_NAMES: Final = 10


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """Return names as a sentence lists them: the first ones, and the number of the others."""
    more = len(names) - _SHOWN_NAMES
    return separator.join(names[:_SHOWN_NAMES]) + (f" and {more:,} more" if more > 0 else "")


class CaseSpec(PlainSpec):
    """A case of a switch; the first case that applies is taken."""

    when: Condition = Field(description="Condition of the case.")
    to: NodeName
    message: Template = Field(None, description="Message instead of the source's output.")


class EdgeSpec(PlainSpec):
    """An edge of a graph.

    An edge from one node to one is direct; to several it is a fan-out, from several a fan-in. One
    with cases is a switch, and one with an output ends the run.
    """

    from_: NodeName | Names = Field(alias="from")
    to: NodeName | Names | None = None
    when: Condition = Field("", description="Condition without which the edge is not taken.")
    message: Template = Field(None, description="Message instead of the source's output.")
    cases: list[CaseSpec] = Field([], max_length=MAX_ENDS)
    default: NodeName | None = Field(None, description="Target of a switch if no case applies.")
    select: Condition = Field(
        "", description="Targets of a fan-out: a list of names or of positions, from 0."
    )
    wait: Literal["all", "any"] | Annotated[int, Field(ge=1, le=MAX_ENDS)] = Field(
        "all", description="Sources for which a fan-in waits: all, any, or their number."
    )
    output: Template = Field(None, description="Output of the run, which this edge ends.")

    @property
    def kind(self) -> EdgeKind:
        """Kind of the edge."""
        if self.cases:
            return "switch"
        if self.to is None:
            return "end"
        if isinstance(self.from_, list):
            return "fan_in"
        return "fan_out" if isinstance(self.to, list) else "direct"

    @property
    def sources(self) -> tuple[str, ...]:
        """Nodes at which the edge begins."""
        return tuple(self.from_) if isinstance(self.from_, list) else (self.from_,)

    @property
    def targets(self) -> tuple[str, ...]:
        """Nodes at which the edge may end."""
        if self.cases:
            found = [case.to for case in self.cases] + [self.default] * bool(self.default)
            return tuple(dict.fromkeys(name for name in found if name))
        if self.to is None:
            return ()
        return tuple(self.to) if isinstance(self.to, list) else (self.to,)

    @property
    def text(self) -> str:
        """The edge as sentences name it, such as ``a, b → c``."""
        return f"{listed(self.sources)}{ARROW}{listed(self.targets) or 'the end'}"

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        problem = self._problem()
        if problem:
            raise ValueError(f"is the edge {self.text}, which {problem}")
        return self

    def _problem(self) -> str:
        ways = [self.to is not None, bool(self.cases), self.output is not None]
        if sum(ways) != 1:
            return "needs one of to, cases and output"
        if isinstance(self.from_, list) and not isinstance(self.to, str):
            return "begins at several nodes, and so needs one node as its to"
        return self._misplaced()

    def _misplaced(self) -> str:
        kind = self.kind
        allowed: dict[str, tuple[Any, str]] = {
            "default": (kind == "switch", "a switch"),
            "select": (kind == "fan_out", "a fan-out"),
            "wait": (kind == "fan_in", "a fan-in"),
            "when": (kind != "switch", "an edge without cases"),
        }
        for name, (is_allowed, where) in allowed.items():
            if not is_allowed and getattr(self, name) != self.default_of(name):
                return f"has {name}; that belongs to {where}"
        return ""
