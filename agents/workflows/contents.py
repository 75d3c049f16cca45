"""Contents that messages refer to, and the data that expressions read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.workflows.expressions.operations import read_item
from agents.workflows.records import INPUT, NodeMessage, Sent
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
        self._outputs: dict[str, list[Any]] = {}
        self._sends: dict[str, list[Sent]] = {}
        self._yields: dict[str, list[Any]] = {}
        self._errors: dict[str, list[dict[str, Any]]] = {}

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
        key = visit.activation.id
        if key not in self._outputs:
            self._outputs[key] = [
                self.data.read_artifact(result.artifact) if result.artifact else result.output
                for result in visit.finished
            ]
        outputs = self._outputs[key]
        return outputs if visit.activation.items is not None else outputs[0]

    def sends_of(self, visit: Visit) -> list[Sent]:
        """Return the messages that an activation's calls sent themselves."""
        key = visit.activation.id
        if key not in self._sends:
            self._sends[key] = [sent for result in visit.finished for sent in result.sends]
        return self._sends[key]

    def yields_of(self, visit: Visit) -> list[Any]:
        """Return the outputs of the run that an activation's calls yielded."""
        key = visit.activation.id
        if key not in self._yields:
            self._yields[key] = [value for result in visit.finished for value in result.yields]
        return self._yields[key]

    def errors_of(self, visit: Visit) -> list[dict[str, Any]]:
        """Return the errors of an activation as expressions and handlers read them."""
        key = visit.activation.id
        if key not in self._errors:
            self._errors[key] = [
                {"type": error.type, "message": error.message, "item": error.item}
                for error in visit.errors
            ]
        return self._errors[key]

    def _produced(self, message: NodeMessage, visit: Visit) -> Any:
        if message.source == "output":
            return self.output_of(visit)
        if message.source == "yielded":
            return self.yields_of(visit)[message.position]
        sent = self.sends_of(visit)[message.position]
        return self.data.read_artifact(sent.artifact) if sent.artifact else sent.value


class NodeViews(Mapping[str, Any]):
    """Nodes as expressions see them: ``steps.NAME`` with ``output``, ``error`` and ``visits``."""

    def __init__(
        self,
        names: Mapping[str, Any],
        state: GraphState,
        contents: Contents,
        done: Mapping[str, str],
    ) -> None:
        """Show the nodes of these names.

        Args:
            names: Mapping with the names of all nodes.
            state: State of the graph.
            contents: Contents of the run.
            done: Activation of each node that finished since the last commit.
        """
        self._names = names
        self._state = state
        self._contents = contents
        self._done = done

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        visit_id = self.last(name)
        visit = self._contents.visit(visit_id) if visit_id is not None else None
        count = self._state.visit_counts.get(name, 0) + (name in self._done)
        return _NodeView(self._contents, visit, count)

    def last(self, name: str) -> str | None:
        """Return the last finished activation of a node; None: it has not finished."""
        return self._done.get(name) or self._state.last.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _NodeView(Mapping[str, Any]):
    """One node as expressions see it."""

    _KEYS = ("output", "error", "errors", "visits")

    def __init__(self, contents: Contents, visit: Visit | None, count: int) -> None:
        self._contents = contents
        self._visit = visit
        self._count = count

    def __getitem__(self, key: str) -> Any:
        match key:
            case "visits":
                return self._count
            case "output":
                return None if self._visit is None else self._contents.output_of(self._visit)
            case "error" | "errors":
                found = [] if self._visit is None else self._contents.errors_of(self._visit)
                return found if key == "errors" else (found[0] if found else None)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._KEYS)

    def __len__(self) -> int:
        return len(self._KEYS)
