"""Validation of a graph: all of its faults at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from agents.workflows.spec.graph import GraphSpec
from agents.workflows.validation.faults import (
    FaultList,
    GraphFault,
    Installation,
    InvalidGraphError,
    TooManyFaultsError,
)
from agents.workflows.validation.names import check_names
from agents.workflows.validation.nesting import check_nesting
from agents.workflows.validation.order import check_order
from agents.workflows.validation.paths import check_paths, check_size
from agents.workflows.validation.references import check_references, uses_of
from agents.workflows.validation.types import check_types
from agents.workflows.validation.writers import check_writers


def find_faults(
    graph: GraphSpec,
    *,
    name: str = "",
    installation: Installation | None = None,
    workflows: Mapping[str, Iterable[str]] | None = None,
) -> list[GraphFault]:
    """Return the faults of a graph, each with its place and its mend.

    A graph is untrusted: the work is about linear in its size, and ends at ``MAX_FAULTS``.

    Args:
        graph: The graph.
        name: Name of its workflow.
        installation: Names that its nodes may use; None: they are not checked.
        workflows: Workflows that each of the installation's workflows runs, by name.
    """
    faults, known = FaultList(), installation or Installation()
    with suppress(TooManyFaultsError):
        check_size(graph, faults)
        if not faults.found:
            check_names(graph, known, faults)
            has_sound_names = not faults.found
            uses = list(uses_of(graph))
            check_references(graph, uses, faults)
            check_writers(graph, faults)
            check_types(graph, known, faults)
            check_nesting(name, graph, workflows or {}, faults)
            if has_sound_names:  # else paths would be wrong only because of a name
                check_paths(graph, faults)
            check_order(graph, uses, faults)
    return faults.found


def check_graph(name: str, graph: GraphSpec, installation: Installation | None = None) -> None:
    """Reject a graph that cannot be used.

    Raises:
        InvalidGraphError: The graph has faults; the error lists them.
    """
    faults = find_faults(graph, name=name, installation=installation)
    if faults:
        raise InvalidGraphError(name, faults)
