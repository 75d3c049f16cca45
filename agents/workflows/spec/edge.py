"""Settings of an edge: its ends, and the condition under which it carries a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, PlainValidator, TypeAdapter, model_validator

from agents.workflows.spec.values import Condition, NodeName, PlainSpec, Template

#: Kinds of edges.
EdgeKind = Literal["direct", "switch", "fan_out", "fan_in", "end"]
MAX_ENDS: Final = 1_000
_NAME: Final[TypeAdapter[str]] = TypeAdapter(NodeName)
_NAMES: Final[TypeAdapter[list[str]]] = TypeAdapter(
    Annotated[list[NodeName], Field(min_length=1, max_length=MAX_ENDS)]
)
#: Sign between the ends of an edge in sentences and drawings.
ARROW: Final = " → "
_SHOWN_NAMES: Final = 10
#: Settings that only some kinds of edges have.
_BELONGS: Final = {
    "default": (("switch",), "a switch"),
    "select": (("fan_out",), "a fan-out"),
    "wait": (("fan_in",), "a fan-in"),
    "when": (("direct", "fan_out", "fan_in", "end"), "an edge without cases"),
}


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """Return names as a sentence lists them: the first ones, and the number of the others."""
    more = len(names) - _SHOWN_NAMES
    return separator.join(names[:_SHOWN_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _ends(given: object) -> str | list[str]:
    """Accept a name or a list of names; a fault is that of the form that was written."""
    is_list = isinstance(given, list)
    return _NAMES.validate_python(given) if is_list else _NAME.validate_python(given)


def _wait(given: object) -> object:
    is_number = isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MAX_ENDS
    if not is_number and given not in ("all", "any"):
        raise ValueError(f"must be all, any or a number from 1 to {MAX_ENDS:,}")
    return given


Ends = Annotated[
    str | list[str], PlainValidator(_ends, json_schema_input_type=NodeName | list[NodeName])
]


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

    from_: Ends = Field(alias="from")
    to: Ends | None = None
    when: Condition = Field("", description="Condition without which the edge is not taken.")
    message: Template = Field(None, description="Message instead of the source's output.")
    cases: list[CaseSpec] = Field([], max_length=MAX_ENDS)
    default: NodeName | None = Field(None, description="Target of a switch if no case applies.")
    select: Condition = Field(
        "", description="Targets of a fan-out: a list of names or of positions, from 0."
    )
    wait: Annotated[Literal["all", "any"] | int, BeforeValidator(_wait)] = Field(
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
        return _listed(self.from_)

    @property
    def targets(self) -> tuple[str, ...]:
        """Nodes at which the edge may end."""
        if self.cases:
            names = dict.fromkeys([*(case.to for case in self.cases), self.default or ""])
            return tuple(filter(None, names))
        return _listed(self.to)

    @property
    def text(self) -> str:
        """The edge as sentences name it, such as ``a, b → c``."""
        return f"{listed(self.sources)}{ARROW}{listed(self.targets) or 'the end'}"

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        if problem := self._problem():
            raise ValueError(f"is the edge {self.text}, which {problem}")
        return self

    def _problem(self) -> str:
        if [self.to is not None, bool(self.cases), self.output is not None].count(True) != 1:
            return "needs one of to, cases and output"
        if isinstance(self.from_, list) and not isinstance(self.to, str):
            return "begins at several nodes, and so needs one node as its to"
        for name, (kinds, where) in _BELONGS.items():
            if self.kind not in kinds and getattr(self, name) != self.default_of(name):
                return f"has {name}; that belongs to {where}"
        return ""


def _listed(names: str | list[str] | None) -> tuple[str, ...]:
    return tuple(names) if isinstance(names, list) else (names,) if names else ()
