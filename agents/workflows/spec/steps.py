"""Steps: a workflow whose nodes name those that they need, as nodes and edges, and back. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from agents.workflows.patterns.expansion import with_pattern

STEPS: Final = "steps"
_GRAPH: Final = ("nodes", "edges", "start")


def written_at(content: Any, place: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return where a place of the graph is written: a node may be a step, or stand in a table."""
    match place:
        case ("nodes", int(index), *rest) if isinstance(content, Mapping):
            for form in (STEPS, "nodes"):
                named = content.get(form)
                if isinstance(named, Mapping) and index < len(named):
                    return (form, [*named][index], *rest)
    return place


def with_graph(content: Any) -> Any:
    """Return a workflow's settings with ``nodes`` and ``edges`` in the place of another form.

    The other forms are ``steps``, and the tables of patterns (``agents.workflows.patterns``).

    A step without ``needs`` is sent the input, unless another one names it as the handler of its
    errors; one that needs a step is the target of a direct edge and one that needs several the
    target of a fan-in. Settings without ``steps``, or which are no
    table at all, are returned unchanged: they are checked elsewhere.

    Args:
        content: Settings as they were written: of ``[[workflows]]``, of a form, of a builder.

    Raises:
        ValueError: The settings have both forms, or a step's ``needs`` is no list of names.
    """
    content = with_pattern(content)
    if not isinstance(content, Mapping) or STEPS not in content:
        return content
    if other := next(filter(content.get, _GRAPH), None):
        raise ValueError(f"has both steps and {other}; write one form")
    steps = content[STEPS]
    if not isinstance(steps, Mapping) or not all(isinstance(one, dict) for one in steps.values()):
        raise ValueError("has steps that are no table of tables; write [workflows.steps.NAME]")
    needs = {name: _needs(name, step) for name, step in steps.items()}
    handlers = {str(step.get("on_error")) for step in steps.values()}
    return {
        "order": "ready",
        **_without(STEPS, content),
        "nodes": [{"name": name, **_without("needs", step)} for name, step in steps.items()],
        "edges": [
            {"from": sources if sources[1:] else sources[0], "to": name}
            for name, sources in needs.items()
            if sources
        ],
        "start": [name for name, sources in needs.items() if not sources and name not in handlers],
    }


def _needs(name: str, step: Mapping[str, Any]) -> list[str]:
    needs = step.get("needs", [])
    needs = [needs] if isinstance(needs, str) else needs
    if not isinstance(needs, list) or not all(isinstance(one, str) for one in needs):
        raise ValueError(f'has a step "{name}" whose needs is no list of names of steps')
    return list(dict.fromkeys(needs))


def _without(left_out: str, table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != left_out}


def find_steps(content: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Return the steps that are exactly this graph, by name; None: steps cannot express it.

    Cycles, switches, fan-outs, edges with conditions, and edges in another order cannot be
    expressed. Equality is that of the JSON of ``nodes``, ``edges`` and ``start``, so a version
    that is made from the steps has the same hash.

    Args:
        content: Settings of a workflow as its row stores them.
    """
    needs: dict[str, list[str]] = defaultdict(list)
    for edge in content.get("edges", ()):
        sources, target = edge["from"], edge.get("to")
        if not isinstance(target, str):
            return None
        needs[target] += [sources] if isinstance(sources, str) else sources
    steps = {}
    for node in content.get("nodes", ()):
        needed = needs.get(node["name"])
        steps[node["name"]] = _without("name", node) | ({"needs": needed} if needed else {})
    again = with_graph({STEPS: steps})
    return steps if all(again[key] == content.get(key, []) for key in _GRAPH) else None
