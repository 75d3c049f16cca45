"""Builder of workflows: the same settings as ``[[workflows]]`` of ``heartbit.toml``, from Python.

Usage::

    review = (
        Workflow("review", input=Draft)
        .state(rounds=add(0))
        .start(grade)
        .switch(grade, ("message.score >= 0.8", publish), ("state.rounds >= 5", "editor"),
                default=improve)
        .edge(improve, grade)
        .ask("editor", "Publish it?", form={"type": "boolean"}, timeout="3d", on_timeout=False)
        .edge("editor", publish, when="message", message="{{ steps.grade.output }}")
        .end("editor", when="not message", output="rejected")
    )

A function marked with ``@executor`` is a node where it is first named. Conditions are texts, since
a lambda could be neither pinned nor drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from pydantic import ValidationError

from agents.definitions.validation_messages import check, sentence_of
from agents.workflows.executors.executor import Executor, executor_of
from agents.workflows.executors.types import schema_of
from agents.workflows.spec.graph import StateKeySpec
from agents.workflows.spec.workflow import WorkflowSpec
from agents.workflows.validation.faults import Installation, KnownFunction
from agents.workflows.validation.validate import check_graph
from heartbit_site.base.errors import ConfigurationError

#: A node: its name, or a function or class marked with ``@executor``.
NodeLike = str | Callable[..., Any]


class Workflow:
    """A workflow that is being built; each method adds to it and returns it.

    Args:
        name: Name of the workflow.
        input: Type or JSON Schema of its input; None: any.
        settings: Other settings of a workflow, such as ``description``, ``limits`` and ``output``.
    """

    def __init__(self, name: str, *, input: Any = None, **settings: Any) -> None:
        self.name = name
        self._settings: dict[str, Any] = settings
        self._input = schema_of(input, f"The input of {name!r}")
        self._nodes: dict[str, dict[str, Any]] = {}
        self._edges: list[dict[str, Any]] = []
        self._start: list[str] = []
        self._state: dict[str, Any] = {}
        self._executors: dict[str, Executor] = {}

    def state(self, **keys: Any) -> Self:
        """Declare keys of the state: ``add(0)``, ``append()`` and so on, or an initial value."""
        for key, spec in keys.items():
            found = spec if isinstance(spec, StateKeySpec) else StateKeySpec(initial=spec)
            self._state[key] = found.plain()
        return self

    def start(self, *nodes: NodeLike) -> Self:
        """Send the input to nodes."""
        self._start += [self.name_of(node) for node in nodes]
        return self

    def limit(self, **limits: Any) -> Self:
        """Set limits of a run (``agents.workflows.spec.graph.LimitsSpec``)."""
        self._settings["limits"] = {**self._settings.get("limits", {}), **limits}
        return self

    def extend(self, graph: Mapping[str, Any], executors: Iterable[Executor] = ()) -> Self:
        """Add a graph in the form of settings: ``nodes``, ``edges``, ``start`` and ``state``.

        Args:
            graph: The settings.
            executors: Executors that its nodes call.
        """
        self._executors |= {one.name: one for one in executors}
        for node in map(dict, graph["nodes"]):
            self.node(node.pop("name"), **node)
        self._edges += graph["edges"]
        self._state |= graph["state"]
        return self.start(*graph["start"])

    def node(self, node: NodeLike, **settings: Any) -> Self:
        """Define a node, or add settings to it (``agents.workflows.spec.node.NodeSpec``)."""
        name = self.name_of(node)
        defined = self._nodes[name]
        for setting, value in settings.items():
            if defined.get(setting, value) != value:
                raise ConfigurationError(
                    f"The node {name!r} has {setting} twice: {defined[setting]!r:.40} and "
                    f"{value!r:.40}; write it once."
                )
            defined[setting] = self._plain(f"{setting} of the node {name!r}", value)
        return self

    def agent(self, node: str, agent: str = "", **settings: Any) -> Self:
        """Define a node that runs an agent; its name is the node's unless it is given."""
        return self.node(node, agent=agent or node, **settings)

    def workflow(self, node: str, workflow: str = "", **settings: Any) -> Self:
        """Define a node that runs a workflow; its name is the node's unless it is given."""
        return self.node(node, workflow=workflow or node, **settings)

    def tool(self, node: str, tool: str = "", **settings: Any) -> Self:
        """Define a node that calls a tool; its name is the node's unless it is given."""
        return self.node(node, tool=tool or node, **settings)

    def ask(self, node: str, question: str, **settings: Any) -> Self:
        """Define a node that asks a person."""
        return self.node(node, ask=question, **settings)

    def pause(self, node: str, duration: float | str, **settings: Any) -> Self:
        """Define a node that waits, for seconds or a text such as ``5m``."""
        return self.node(node, pause=duration, **settings)

    def set(self, node: str, values: Mapping[str, Any], **settings: Any) -> Self:
        """Define a node that writes keys of the state, from templates."""
        return self.node(node, set=dict(values), **settings)

    def code(self, node: str, code: str, **settings: Any) -> Self:
        """Define a node that runs code in the sandbox."""
        return self.node(node, code=code, **settings)

    def edge(
        self, source: NodeLike, target: NodeLike, *, when: str = "", message: Any = None
    ) -> Self:
        """Connect two nodes, perhaps under a condition."""
        return self._connect(source, to=self.name_of(target), when=when, message=message)

    def switch(
        self,
        source: NodeLike,
        *cases: tuple[str, NodeLike],
        default: NodeLike | None = None,
        message: Any = None,
    ) -> Self:
        """Connect a node to the target of the first condition that holds."""
        written = [
            {"when": self._plain("a condition", when), "to": self.name_of(target)}
            for when, target in cases
        ]
        other = None if default is None else self.name_of(default)
        return self._connect(source, cases=written, default=other, message=message)

    def fan_out(
        self, source: NodeLike, *targets: NodeLike, select: str = "", message: Any = None
    ) -> Self:
        """Connect a node to several, or to those that an expression selects."""
        names = [self.name_of(target) for target in targets]
        return self._connect(source, to=names, select=select, message=message)

    def fan_in(
        self,
        sources: Iterable[NodeLike],
        target: NodeLike,
        *,
        wait: str | int = "all",
        when: str = "",
        message: Any = None,
    ) -> Self:
        """Connect several nodes to one, which is sent their messages together."""
        names = [self.name_of(source) for source in sources]
        return self._connect(names, to=self.name_of(target), wait=wait, when=when, message=message)

    def for_each(
        self, source: NodeLike, entries: str, target: NodeLike, *, max_parallel: int | None = None
    ) -> Self:
        """Connect two nodes; the target handles the entries of a list one by one."""
        limit = {} if max_parallel is None else {"max_parallel": max_parallel}
        return self.node(target, each=entries, **limit).edge(source, target)

    def end(self, source: NodeLike, *, when: str = "", output: Any = "{{ message }}") -> Self:
        """Let a node end the run with an output, perhaps under a condition."""
        return self._connect(source, when=when, output=output)

    @property
    def spec(self) -> WorkflowSpec:
        """Settings of the workflow.

        Raises:
            ConfigurationError: A setting is invalid, or a node has no work.
        """
        content = {
            **self._settings,
            "name": self.name,
            "nodes": self._nodes,
            "edges": self._edges,
            "start": self._start,
            "state": self._state,
            "input": self._input,
        }
        try:
            return WorkflowSpec.model_validate(content)
        except ValidationError:
            faults = [sentence_of(*fault) for fault in check(WorkflowSpec, content, ())]
            problems = "; ".join(fault.rstrip(".") for fault in faults)
            raise ConfigurationError(f"The workflow {self.name!r} is invalid: {problems}") from None

    def check(self) -> Self:
        """Reject a workflow with faults, the types of its executors included.

        Raises:
            ConfigurationError: It has faults; the error names all of them.
        """
        functions = {
            name: KnownFunction(one.input_schema, one.output_schema)
            for name, one in self._executors.items()
        }
        check_graph(self.name, self.spec.graph, Installation(functions=functions))
        return self

    @property
    def executors(self) -> Mapping[str, Executor]:
        """Executors that the nodes call, by name."""
        return self._executors

    def name_of(self, node: NodeLike) -> str:
        """Return the name of a node; an executor becomes a node."""
        if isinstance(node, str):
            self._nodes.setdefault(node, {})
            return node
        found = executor_of(node)
        if found is None:
            name = getattr(node, "__name__", repr(node))
            what = "A lambda" if name == "<lambda>" else f"The function {name!r}"
            raise ConfigurationError(
                f"{what} is no node of the workflow {self.name!r}: mark a function with @executor."
            )
        self._nodes.setdefault(found.name, {}).setdefault("function", found.name)
        self._executors[found.name] = found
        return found.name

    def _connect(self, source: NodeLike | list[str], **settings: Any) -> Self:
        names = source if isinstance(source, list) else self.name_of(source)
        place = f"the edge from {names!r}"
        kept = {
            setting: self._plain(f"{setting} of {place}", value)
            for setting, value in settings.items()
            if value is not None
        }
        self._edges.append({"from": names, **kept})
        return self

    def _plain(self, place: str, value: Any) -> Any:
        """Return a setting unless it is a function."""
        if callable(value) and not isinstance(value, type):
            raise ConfigurationError(
                f"In the workflow {self.name!r}, {place} is a function, which can be neither "
                'pinned nor drawn: write a text such as "message.score >= 0.8".'
            )
        return value
