"""Contents that messages refer to, and the data that expressions read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.workflows.events import NodeFinished
from agents.workflows.expressions.operations import read_item
from agents.workflows.records import INPUT, STEP_KEYS, NodeMessage, Sent
from agents.workflows.state import GraphState, Visit


def _no_artifact(name: str) -> Any:
    raise KeyError(f"the artifact {name!r} is not loaded")


@dataclass(frozen=True, slots=True)
class RunData:
    """Data of a run that is outside its journal's events of the graph.

    Attributes:
        input: Input of the run: its payload, or its task as text.
        read_artifact: Returns the content of an artifact by its name. ``GraphState.artifacts``
            lists those that may be read, so that they can be loaded before.
    """

    input: Any = None
    read_artifact: Callable[[str], Any] = _no_artifact


class Contents:
    """Contents of the messages of a run, until its next commit; each list is made once.

    Attributes:
        data: Data of the run.
    """

    def __init__(self, state: GraphState, data: RunData) -> None:
        self.data = data
        self._state = state
        self._made: dict[tuple[str, str], list[Any]] = {}

    def of(self, message: NodeMessage) -> Any:
        """Return the content of a message.

        Raises:
            KeyError: The message refers to a result that the state no longer has.
        """
        value = self._base_of(message)
        for key in message.path:
            value = read_item(value, key)
        return value

    def _base_of(self, message: NodeMessage) -> Any:
        if message.call == INPUT:
            return self.data.input
        if message.call:
            return self._produced(message, self.visit(message.call))
        if message.parts:
            return {
                part.source: None if part.message is None else self.of(part.message)
                for part in message.parts
            }
        return message.value

    def visit(self, visit_id: str) -> Visit:
        """Return an activation with its results.

        Raises:
            KeyError: The state has it no longer.
        """
        state = self._state
        return state.produced[visit_id] if visit_id in state.produced else state.visits[visit_id]

    def output_of(self, visit: Visit) -> Any:
        """Return the output of an activation: a list, if it handled the entries of a list."""
        outputs = self._once("output", visit, lambda: map(self._output, visit.finished))
        return outputs if visit.activation.items is not None else outputs[0]

    def sends_of(self, visit: Visit) -> list[Sent]:
        """Return the messages that an activation's calls sent themselves."""
        return self._once("sent", visit, lambda: (one for r in visit.finished for one in r.sends))

    def yields_of(self, visit: Visit) -> list[Any]:
        """Return the outputs of the run that an activation's calls yielded."""
        return self._once(
            "yields", visit, lambda: (one for r in visit.finished for one in r.yields)
        )

    def errors_of(self, visit: Visit) -> list[dict[str, Any]]:
        """Return the errors of an activation as expressions and handlers read them."""
        names = ("type", "message", "item")
        return self._once(
            "errors",
            visit,
            lambda: ({name: getattr(error, name) for name in names} for error in visit.errors),
        )

    def _once(self, kind: str, visit: Visit, make: Callable[[], Iterable[Any]]) -> list[Any]:
        key = (kind, visit.activation.id)
        if key not in self._made:
            self._made[key] = list(make())
        return self._made[key]

    def _output(self, result: NodeFinished) -> Any:
        return self.data.read_artifact(result.artifact) if result.artifact else result.output

    def _produced(self, message: NodeMessage, visit: Visit) -> Any:
        if message.source == "output":
            return self.output_of(visit)
        if message.source == "yielded":
            return self.yields_of(visit)[message.position]
        sent = self.sends_of(visit)[message.position]
        return self.data.read_artifact(sent.artifact) if sent.artifact else sent.value


class _Lazy(Mapping[str, Any]):
    """Mapping whose values are made when they are read."""

    def __init__(self, names: Collection[str], make: Callable[[str], Any]) -> None:
        self._names = names
        self._make = make

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class NodeViews(_Lazy):
    """Nodes as expressions see them: ``steps.NAME`` with ``output``, ``error`` and ``visits``.

    Args:
        names: Names of all nodes.
        state: State of the graph.
        contents: Contents of the run.
        done: Activation of each node that finished since the last commit.
    """

    def __init__(
        self, names: Collection[str], state: GraphState, contents: Contents, done: Mapping[str, str]
    ) -> None:
        super().__init__(names, self._node)
        self._state = state
        self._contents = contents
        self._done = done

    def last(self, name: str) -> str | None:
        """Return the last finished activation of a node; None: it has not finished."""
        return self._done.get(name) or self._state.last.get(name)

    def _node(self, name: str) -> Mapping[str, Any]:
        return _Lazy(STEP_KEYS, lambda key: self._part(name, key))

    def _part(self, name: str, key: str) -> Any:
        if key == "visits":
            return self._state.visit_counts.get(name, 0) + (name in self._done)
        visit_id = self.last(name)
        visit = self._contents.visit(visit_id) if visit_id is not None else None
        if key == "output":
            return self._contents.output_of(visit) if visit else None
        errors = self._contents.errors_of(visit) if visit else []
        return errors if key == "errors" else next(iter(errors), None)
