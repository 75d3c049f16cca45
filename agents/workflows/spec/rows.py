"""Steps of a graph: the inverse of ``with_graph``, for a form with one row a step. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from agents.workflows.spec.steps import STEPS, with_graph

_GRAPH: Final = ("nodes", "edges", "start")


def find_steps(content: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Return the steps that are exactly this graph, by name; None: steps cannot express it.

    Cycles, switches, fan-outs, edges with conditions, and edges in another order cannot be
    expressed. Equality is that of the JSON of ``nodes``, ``edges`` and ``start``, so a version
    that is made from the steps has the same hash.

    Args:
        content: Settings of a workflow as its row stores them.
    """
    needs: defaultdict[str, list[str]] = defaultdict(list)
    for edge in content.get("edges", ()):
        sources, target = edge["from"], edge.get("to")
        if not isinstance(target, str):
            return None
        needs[target] += [sources] if isinstance(sources, str) else sources
    steps = {}
    for node in content.get("nodes", ()):
        settings = {key: value for key, value in node.items() if key != "name"}
        needed = {"needs": needs[node["name"]]} if needs[node["name"]] else {}
        steps[node["name"]] = {**settings, **needed}
    again = with_graph({STEPS: steps})
    same = all(again[key] == content.get(key, []) for key in _GRAPH)
    return steps if same else None
