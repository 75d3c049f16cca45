"""Events of a workflow: the result of a node, and the commit of a superstep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from agents.journal.events import Event
from agents.journal.phrase import Phrase
from agents.workflows.records import (
    Activation,
    AskedPerson,
    Buffered,
    DroppedEdge,
    Fired,
    LateSources,
    NodeError,
    RunOutput,
    Sent,
    TakenEdge,
    Write,
)
from heartbit_site.base.amounts import counted
from heartbit_site.base.visible_text import readable_json, visible


@dataclass(frozen=True, slots=True)
class NodeFinished(Event):
    """Result of one call of a node; a journaled result is never computed again.

    Attributes:
        status: ``skipped``: a person has decided that the call is left as it is.
        output: Output, if it is no artifact.
        artifact: Name of the artifact that has the output; empty: ``output`` is it.
        sends: Messages that the call sent itself, in order.
        writes: Operations on the state, in order; the commit applies them.
        yields: Outputs of the run that the call yielded.
        asked: Question to a person, with which the call ended.
        attempt: Number of the attempt, from 1.
        will_retry: True if the call is repeated: this is no final result.
    """

    type: ClassVar[str] = "node.finished"
    is_brief: ClassVar[bool] = True
    call_id: str
    node: str
    status: Literal["ok", "error", "skipped"] = "ok"
    output: Any = None
    artifact: str = ""
    sends: tuple[Sent, ...] = ()
    writes: tuple[Write, ...] = ()
    yields: tuple[Any, ...] = ()
    asked: AskedPerson | None = None
    attempt: int = 1
    error: NodeError | None = None
    will_retry: bool = False
    duration_ms: int = 0

    def phrase(self, name_of: Callable[[str], str]) -> Phrase:
        """Describe the result (see ``Event``)."""
        note = f"{self.duration_ms} ms" if self.duration_ms else ""
        name = visible(self.node)
        if self.error is not None:
            title = f"{name} failed" + (", and is tried again" if self.will_retry else "")
            return Phrase(title, visible(self.error.message), "error", "danger", note)
        if self.asked is not None:
            return Phrase(f"{name} asks a person", visible(self.asked.text), "help", "warning")
        if self.artifact:
            return Phrase(f"{name} finished", self.artifact, "check_circle", "success", note)
        text = "" if self.output is None else visible(readable_json(self.output))
        return Phrase(f"{name} finished", text, "check_circle", "success", note)


@dataclass(frozen=True, slots=True)
class GraphCommitted(Event):
    """End of a superstep: what its results led to, decided once.

    With ``order = "ready"`` each finished node is a superstep of its own.

    Attributes:
        superstep: Number of the commit, from 0; the first one delivers the run's input.
        finished: Activations whose results are used, in the order of their merge.
        taken: Edges that carried a message.
        dropped: Edges that carried none, each with its reason.
        writes: Operations on the state before those of the finished calls.
        buffered: Messages that wait for others of a fan-in.
        fired: Fan-ins that delivered.
        late: Sources for which a fan-in did not wait, where these have changed.
        cancelled: Open calls that no one waits for.
        skipped: Nodes that were sent a message, but whose condition is false.
        yields: Outputs of the run.
        next: Activations of the next superstep, in order.
    """

    type: ClassVar[str] = "graph.committed"
    is_brief: ClassVar[bool] = True
    superstep: int
    finished: tuple[str, ...] = ()
    taken: tuple[TakenEdge, ...] = ()
    dropped: tuple[DroppedEdge, ...] = ()
    writes: tuple[Write, ...] = ()
    buffered: tuple[Buffered, ...] = ()
    fired: tuple[Fired, ...] = ()
    late: tuple[LateSources, ...] = ()
    cancelled: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    yields: tuple[RunOutput, ...] = ()
    next: tuple[Activation, ...] = ()

    def phrase(self, name_of: Callable[[str], str]) -> Phrase:
        """Describe the commit (see ``Event``)."""
        names = ", ".join(dict.fromkeys(visible(one.node) for one in self.next))
        title = f"superstep {self.superstep} committed"
        reasons = [
            f"{visible(one.source)} → {visible(one.target)}: {visible(one.reason)}"
            for one in self.dropped
        ]
        note = counted(len(self.taken), "edge") + " taken"
        text = "\n".join(([f"next: {names}"] if names else []) + reasons)
        return Phrase(title, text, "account_tree", "info", note)
