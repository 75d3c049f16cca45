"""Faults of a workflow's graph as complaints about the table that it is written in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from agents.definitions.validation_messages import Complaint, Path
from agents.output.check import check_response_schema
from agents.runtime.execution.installed_executors import installed_executors
from agents.workflows.spec.graph import read_graph
from agents.workflows.spec.steps import STEPS, with_graph, written_at
from agents.workflows.validation.faults import Installation, KnownFunction
from agents.workflows.validation.validate import find_faults
from heartbit_site.base.errors import ConfigurationError


def complaints(
    path: Path, table: Mapping[str, Any], names: Mapping[str, Any], *, tools: Collection[str]
) -> Iterator[Complaint]:
    """Yield the faults of a workflow's graph; a table that is no graph is reported elsewhere.

    Args:
        path: Path of the table, prepended to each fault's path.
        table: Settings of the workflow, in either form.
        names: Names of the agents and workflows that its nodes may run.
        tools: Names of the tools that its nodes may call.
    """
    try:
        graph = read_graph(with_graph(table))
    except (ValidationError, ValueError):
        return
    for index, node in enumerate(graph.nodes):
        if node.agent and node.output is not None:
            try:
                check_response_schema(node.output)
            except ConfigurationError as error:
                yield (*path, *_place(table, ("nodes", index, "output"))), str(error)
    known = frozenset(map(str, names))
    functions = {
        name: KnownFunction(one.input_schema, one.output_schema)
        for name, one in installed_executors().items()
    }
    installation = Installation(functions, known, known, frozenset(tools))
    name = str(table.get("name", ""))
    for fault in find_faults(graph, name=name, installation=installation):
        sentence = fault.sentence[:1].lower() + fault.sentence[1:].rstrip(".")
        yield (*path, *_place(table, fault.place)), f"is not valid: {sentence}"


def _place(table: Mapping[str, Any], place: Path) -> Path:
    """Return where the table has a place of the graph; steps have no edges."""
    found = written_at(table, place)
    return (STEPS,) if STEPS in table and found[:1] != (STEPS,) else found
