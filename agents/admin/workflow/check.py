"""Check of a workflow's settings while they are written: all faults, and a graph to draw."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from agents.definitions import consistency, validation_messages
from agents.definitions.validation_messages import Complaint, Path
from agents.models import Agent
from agents.reads.agents import grantable
from agents.workflows.drawing.layout import draw
from agents.workflows.drawing.outline import DrawingTooLargeError
from agents.workflows.drawing.svg import to_svg
from agents.workflows.spec.graph import GraphSpec, read_graph
from agents.workflows.spec.node import WORK
from agents.workflows.spec.steps import with_graph
from agents.workflows.spec.workflow import WorkflowSpec
from tools.definitions.catalogue import catalogue

_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class CheckedWorkflow:
    """Settings of a workflow that were checked.

    Attributes:
        faults: Each with its path within ``nodes`` and ``edges``, whatever form was written.
        graph: The graph without the settings that cannot be read; None: none of it can.
        spec: The settings; None: there are faults.
    """

    faults: list[Complaint]
    graph: GraphSpec | None = None
    spec: WorkflowSpec | None = None

    def drawing(self, marked: Iterable[str]) -> str:
        """Return the drawing with these nodes marked as faulty, or why there is none."""
        if self.graph is None:
            return ""
        states = dict.fromkeys(marked, "failed")
        try:
            return to_svg(draw(self.graph), states=states, title="Workflow", is_alone=False)
        except DrawingTooLargeError as error:
            return str(error)


def check_workflow(table: Mapping[str, Any], workspace_id: int) -> CheckedWorkflow:
    """Check the settings of a workflow of a workspace, in any form.

    Nothing is written. Settings that cannot be read are left out of the graph that is checked
    further, so that one of them hides no other fault.
    """
    try:
        content = with_graph(table)
    except ValueError as error:
        return CheckedWorkflow([((), str(error))])
    agents = Agent.objects.filter(workspace=workspace_id, origin="")
    names = dict.fromkeys(agents.values_list("name", flat=True))
    tools = grantable(workspace_id, catalogue(workspace_id))
    found = list(validation_messages.check(WorkflowSpec, content, ()))
    unread = found
    for _ in range(_ROUNDS):
        if unread:
            content = _without(content, [path for path, _ in unread])
            unread = list(validation_messages.check(WorkflowSpec, content, ()))
    try:
        graph = read_graph(content)
    except ValidationError:
        return CheckedWorkflow(found)
    plain = {**content, **graph.model_dump(mode="json", by_alias=True)}
    found += consistency.check((), plain, names, tools=tools, kind="workflow")
    faults = list(dict.fromkeys(found))
    return CheckedWorkflow(faults, graph, None if faults else WorkflowSpec.model_validate(content))


def _without(content: Mapping[str, Any], paths: Collection[Path]) -> dict[str, Any]:
    """Return the settings without those at these paths; a node keeps its name and some work."""
    kept = {**content}
    nodes = [dict(node) for node in _listed(content.get("nodes"))]
    gone: set[object] = set()
    for path in paths:
        match path:
            case ("nodes", int(index), str(name), *_) if index < len(nodes):
                nodes[index].pop(name, None)
                # Templates may read the entry of each, and a node cannot be without a name.
                instead = {"each": "[]", "name": f"step {index + 1}"}.get(name)
                nodes[index] |= {name: instead} if instead else {}
            case ("nodes", int(index)) if index < len(nodes):
                nodes[index] = {"name": nodes[index].get("name", "")}
            case ("edges", int(index), *_):
                gone.add(index)
            case (str(name), *_) if name not in ("name", "nodes", "edges"):
                kept.pop(name, None)
    for node in nodes:
        if not any(node.get(kind) is not None for kind in WORK):
            node["set"] = {}
    edges = [edge for index, edge in enumerate(_listed(content.get("edges"))) if index not in gone]
    return kept | {"nodes": nodes, "edges": edges}


def _listed(given: object) -> list[dict[str, Any]]:
    """Return the tables of a list, or of a table by name."""
    if isinstance(given, dict):
        given = [{"name": key, **one} for key, one in given.items() if isinstance(one, dict)]
    return (
        [one if isinstance(one, dict) else {} for one in given] if isinstance(given, list) else []
    )
