"""Repair loops in memory: agents as functions, installed executors, and programs in the sandbox."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from agents.runtime.execution.installed_executors import installed_executors
from agents.workflows.executors.recording import RecordingContext
from agents.workflows.graph import compile_graph
from agents.workflows.spec.workflow import WorkflowSpec
from tests.workflows.driver import Driver, Played
from tools.builtin.code import describe
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.program import Program

if TYPE_CHECKING:
    import httpx

    from agents.workflows.builder.workflow import Workflow
    from agents.workflows.calls import CallInput
    from agents.workflows.events import NodeFinished

#: Takes an agent's task, and returns its answer.
Answer = Callable[[str], Any]


def files(**texts: str) -> dict[str, Any]:
    """An answer with Python modules, by name."""
    return {"files": [{"path": f"{name}.py", "text": text} for name, text in texts.items()]}


class Workshop:
    """Player of the runs of a workflow.

    Args:
        workflow: The workflow.
        agents: Answers of agents and workflows, by name: texts or data in order, or a function.

    Attributes:
        asked: Agents with their tasks, in order.
        checked: Programs that were run.
    """

    def __init__(self, workflow: Workflow | WorkflowSpec, **agents: list[Any] | Answer) -> None:
        spec = workflow if isinstance(workflow, WorkflowSpec) else workflow.check().spec
        self.graph = compile_graph(spec.graph)
        self._agents = agents
        self.asked: list[tuple[str, str]] = []
        self.checked: list[str] = []
        self._driver: Driver

    def play(self, task: Any = "Write it.") -> Played:
        work = dict.fromkeys(self.graph.nodes, self._work)
        self._driver = Driver(self.graph, work, input=task)
        return self._driver.play()

    @property
    def names(self) -> list[str]:
        """Agents in the order in which they were asked."""
        return [name for name, _ in self.asked]

    def _work(self, given: CallInput) -> Any:
        node = given.node
        if node.function:
            return self._call(given)
        if node.tool:
            self.checked.append(node.name)
            return run(given.arguments or {})
        name = node.agent or node.workflow or ""
        answers = self._agents[name]
        count = self.names.count(name)
        task = given.task if isinstance(given.task, str) else json.dumps(given.task)
        self.asked.append((name, task))
        return answers(task) if callable(answers) else answers[min(count, len(answers) - 1)]

    def _call(self, given: CallInput) -> NodeFinished:
        handler = installed_executors()[str(given.node.function)].run
        context = RecordingContext(
            given.call.call_id,
            given.node.name,
            idempotency_key="",
            http=cast("httpx.AsyncClient", None),
            keys=self.graph.spec.state,
            values=self._driver.played.state.values,
        )
        returned = handler.target(**handler.arguments(given.message, context))
        return context.finished(handler.result(returned))


def run(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a program as the tool ``run_code`` does."""
    given = {path: text.encode() for path, text in arguments["files"].items()}
    program = Program(arguments["language"], arguments["code"], given)
    return describe(asyncio.run(Bubblewrap().run(program)), {})
