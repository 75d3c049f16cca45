"""Parts of a workflow's events: messages, activations, writes and errors.

A message is a reference to the call that produced its content, so that content which is sent to
fifty nodes stands in the journal once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from agents.workflows.expressions.reference import Reference
from agents.workflows.spec.graph import Merge

#: Call that "produced" the run's input, in references.
INPUT: Final = "input"
#: Merge of a write to the state.
MergeName = Merge
#: What expressions read of a node, as ``steps.NAME.output``.
STEP_KEYS: Final = ("output", "error", "errors", "visits")
#: Purpose of an activation: run the node, wait (a question or a pause of the graph), wait for the
#: answer to a question of a function, or handle that answer. Waits do not hold the barrier.
Role = Literal["run", "wait", "question", "reply"]
HOLDING: Final = ("run", "reply")


@dataclass(frozen=True, slots=True)
class NodeMessage:
    """Content of a message, by reference where possible.

    Attributes:
        call: Activation that produced it, or ``input``; empty: none, ``value`` or ``parts`` is it.
        source: Part of the activation's results: its output, a message that it sent itself, or an
            output of the run that it yielded.
        position: Position among those, if it is no output.
        value: The content itself.
        parts: Messages of a fan-in, one for each source.
        path: Keys that lead to the content within all that.
    """

    call: str = ""
    source: Literal["output", "sent", "yielded"] = "output"
    position: int = 0
    value: Any = None
    parts: tuple[FanInPart, ...] = ()
    path: Reference = ()


@dataclass(frozen=True, slots=True)
class FanInPart:
    """Message of one source of a fan-in; None: the source has sent none, and no longer can."""

    source: str
    message: NodeMessage | None


@dataclass(frozen=True, slots=True)
class Activation:
    """Delivery of a message to a node, which starts one call, or one for each entry of a list.

    Attributes:
        id: ``superstep.index``; also the id of its call, or of the first one of several.
        items: List whose entries the node handles; None: the node handles the message itself.
        count: Number of these entries.
    """

    id: str
    node: str
    message: NodeMessage
    role: Role = "run"
    items: NodeMessage | None = None
    count: int = 1

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Ids of the calls, in the order of the entries."""
        if self.items is None:
            return (self.id,)
        step, _, first = self.id.partition(".")
        return tuple(f"{step}.{int(first) + number}" for number in range(self.count))

    @property
    def holds_barrier(self) -> bool:
        """True if the superstep ends only after this activation."""
        return self.role in HOLDING


def order_of(call_id: str) -> tuple[int, int]:
    """Return the sort key of an activation or a call: by superstep, then by index."""
    superstep, _, index = call_id.partition(".")
    return int(superstep), int(index)


@dataclass(frozen=True, slots=True)
class Write:
    """An operation on a key of the state."""

    key: str
    merge: MergeName
    value: Any


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that a call sent itself.

    Attributes:
        artifact: Name of the artifact that has the content; empty: ``value`` is the content.
        target: Only node that is sent the message; empty: all that the edges lead to.
    """

    value: Any = None
    artifact: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class AskedPerson:
    """Question of a function to a person; the answer is a message to the function's ``reply``.

    Attributes:
        form: JSON Schema of the answer.
        group: Group whose members may answer; empty: all who may decide in the workspace.
        timeout_seconds: Seconds until the question expires; None: never.
        state: Data that the function is given back with the answer.
    """

    text: str
    form: dict[str, Any] | None = None
    group: str = ""
    timeout_seconds: float | None = None
    state: Any = None


@dataclass(frozen=True, slots=True)
class NodeError:
    """Error of a call.

    Attributes:
        type: Class of the error, such as ``ValueError`` or ``timeout``.
        fingerprint: Text that is equal for errors with the same cause; empty: unknown.
        item: Position of the entry that failed, if the node handles the entries of a list.
    """

    type: str
    message: str
    fingerprint: str = ""
    item: int | None = None


@dataclass(frozen=True, slots=True)
class TakenEdge:
    """An edge that has carried a message.

    Attributes:
        edge: Position of the edge in the graph.
    """

    edge: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class DroppedEdge:
    """An edge that has not carried a message, with the reason.

    Attributes:
        edge: Position of the edge in the graph.
    """

    edge: int
    source: str
    target: str
    reason: str


@dataclass(frozen=True, slots=True)
class Buffered:
    """A message that waits for the others of a fan-in.

    Attributes:
        edge: Position of the fan-in in the graph.
    """

    edge: int
    source: str
    message: NodeMessage


@dataclass(frozen=True, slots=True)
class Fired:
    """A fan-in that has delivered; its buffer loses the oldest message of each source.

    Attributes:
        edge: Position of the fan-in in the graph.
        is_cleared: True if the buffer loses all its messages: the fan-in did not wait for them.
    """

    edge: int
    is_cleared: bool = False


@dataclass(frozen=True, slots=True)
class LateSources:
    """Sources for which a fan-in did not wait: it drops the next message of each.

    Attributes:
        edge: Position of the fan-in in the graph.
        sources: All of them; none: no message is to be dropped any longer.
    """

    edge: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunOutput:
    """An output of the run, and the node that it is from."""

    node: str
    message: NodeMessage
