"""Nodes of the random workflows: functions that write down each of their effects, and children."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from agents.workflows.calls import CallInput
from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor
from agents.workflows.executors.registry import ExecutorRegistry
from agents.workflows.graph import Graph
from agents.workflows.spec.workflow import WorkflowSpec
from tests.workflows import graphs

if TYPE_CHECKING:
    import random

NAMES = [f"n{number}" for number in range(9)]
CHILD = "mirror"
CHILDREN = 0.3  # of the nodes
#: Calls by their idempotency keys: a repeated call has one key, so a server would act once.
keys: Counter[str] = Counter()


def _function(name: str) -> Any:
    @executor(name=name, effect="idempotent")
    def work(message: Any, context: Context) -> int:
        keys[context.idempotency_key] += 1
        found = graphs.number_of(name, message)
        if found % 11 == 0:
            raise ValueError(f"{found}")
        context.add("log", [name, found])
        context.add("n", found)
        return found

    return work


registry = ExecutorRegistry()
registry.add_all(map(_function, NAMES))


def child() -> WorkflowSpec:
    """A workflow that returns the only entry of its input."""
    content = {"name": CHILD, "steps": {"a": {"set": {}}}, "output": "{{ input[0] }}"}
    return WorkflowSpec.model_validate(content)


def any_workflow(random: random.Random, name: str) -> WorkflowSpec:
    """A random graph, some of whose nodes are runs of their own."""
    content = graphs.any_graph(random)
    for node in content["nodes"].values():
        if random.random() < CHILDREN:
            node |= {"workflow": CHILD, "task": "{{ [message] }}"}
            del node["function"]
    return WorkflowSpec.model_validate({"name": name, **content})


def work(graph: Graph) -> dict[str, Any]:
    """Work of the nodes, for a driver without a database."""
    return {
        name: graphs.logged if node.spec.function else _same for name, node in graph.nodes.items()
    }


def _same(given: CallInput) -> Any:
    return given.message
