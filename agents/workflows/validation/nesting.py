"""Nesting of workflows: no workflow runs itself, and they are at most eight levels deep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from agents.workflows.graph import postorder
from agents.workflows.spec.edge import ARROW, listed
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.validation.faults import FaultList
from agents.workflows.validation.paths import find_cycle

MAX_LEVELS: Final = 8


def workflows_of(graph: GraphSpec) -> set[str]:
    """Return the workflows that a graph runs."""
    return {node.workflow for node in graph.nodes if node.workflow is not None}


def check_nesting(
    name: str, graph: GraphSpec, others: Mapping[str, Iterable[str]], faults: FaultList
) -> None:
    """Add faults of workflows that run each other, or are nested too deeply.

    Args:
        name: Name of the workflow.
        graph: Its graph.
        others: Workflows that each of the other workflows runs, by name.
        faults: The list.
    """
    below = {other: set(names) for other, names in others.items()} | {name: workflows_of(graph)}
    cycle = find_cycle({name: below[name], **below})
    if cycle and name in cycle:
        add = faults.about(f"The workflows {listed(cycle, ARROW)}", "nodes")
        add("run each other without an end: remove one of these nodes.")
    elif not cycle and (levels := _levels(name, below)) > MAX_LEVELS:
        add = faults.about(f"The workflow is nested {levels} levels deep,", "nodes")
        add(f"and {MAX_LEVELS} are accepted: move nodes of inner workflows into outer ones.")


def _levels(name: str, below: Mapping[str, set[str]]) -> int:
    """Return the levels of a workflow that does not run itself; 1: it runs no other."""
    levels: dict[str, int] = {}
    for outer in postorder(below):
        levels[outer] = 1 + max((levels[inner] for inner in below.get(outer, ())), default=0)
    return levels[name]
