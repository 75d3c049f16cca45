"""Agents as functions, and patterns as tables."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agents.workflows.spec.workflow import WorkflowSpec
from tests.workflows.driver import Driver, Played

if TYPE_CHECKING:
    from agents.workflows.builder.workflow import Workflow
    from agents.workflows.calls import CallInput

#: Answers of an agent in their order, the last one again and again; or a function.
Answers = list[Any] | Callable[["CallInput"], Any]


def from_toml(text: str) -> WorkflowSpec:
    return WorkflowSpec.model_validate(tomllib.loads(text))


class Cast:
    """Players of the agents of a workflow.

    Attributes:
        tasks: Tasks of each agent, in order.
    """

    def __init__(self, workflow: Workflow | WorkflowSpec, **answers: Answers) -> None:
        spec = workflow if isinstance(workflow, WorkflowSpec) else workflow.check().spec
        self.graph = spec.graph
        self._answers = answers
        self.tasks: dict[str, list[str]] = {}

    def play(self, task: Any = "Build it.") -> Played:
        nodes = [node for node in self.graph.nodes if node.agent is not None]
        work: Mapping[str, Any] = {node.name: self._player(str(node.agent)) for node in nodes}
        return Driver(self.graph, work, input=task).play()

    def _player(self, agent: str) -> Callable[[CallInput], Any]:
        def answer(given: CallInput) -> Any:
            tasks = self.tasks.setdefault(agent, [])
            tasks.append(given.task)
            answers = self._answers.get(agent, [f"{agent} answers"])
            if callable(answers):
                return answers(given)
            return answers[min(len(tasks), len(answers)) - 1]

        return answer


def speakers(played: Played) -> list[str]:
    return [entry["speaker"] for entry in played.state.values["transcript"]]
