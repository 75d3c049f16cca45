"""Random graphs: with cycles, fan-ins of every kind, conditions, writes and lists."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from agents.workflows.records import Write
from agents.workflows.spec.edge import EdgeSpec
from tests.workflows.driver import result

if TYPE_CHECKING:
    import random

    from agents.workflows.calls import CallInput

CONDITION = "message % {} < {}"
LIMITS = {"supersteps": 25, "activations": 120}


def any_graph(random: random.Random) -> dict[str, Any]:
    """A graph with cycles; most of its nodes may end the run as well."""
    names = [f"n{number}" for number in range(random.randint(3, 9))]
    edges = [_edge(random, names) for _ in range(random.randint(len(names), 2 * len(names)))]
    is_acyclic = random.random() < 0.5
    if is_acyclic:
        edges = [edge for edge in edges if _leads_forward(edge)]
    ends = [name for name in names if is_acyclic or random.random() < 0.5]
    edges += [{"from": name, "output": "{{ message }}"} for name in ends]
    return {
        "nodes": {name: {"function": name, "on_error": "continue"} for name in names},
        "start": random.sample(names, random.randint(1, 2)),
        "state": {"log": {"merge": "append"}, "n": {"merge": "add", "initial": 0}},
        "edges": edges,
        "output": "{{ state.log }}",
        "limits": LIMITS,
    }


def _leads_forward(edge: dict[str, Any]) -> bool:
    spec = EdgeSpec.model_validate(edge)
    return max(spec.sources) < min(spec.targets)


def _edge(random: random.Random, names: list[str]) -> dict[str, Any]:
    condition = CONDITION.format(random.randint(2, 5), random.randint(1, 5))
    source, target, other = (random.choice(names) for _ in range(3))
    several = random.sample(names, random.randint(2, 3))
    kind = random.choice(["direct", "when", "switch", "out", "in", "in", "any"])
    match kind:
        case "direct":
            return {"from": source, "to": target}
        case "when":
            return {"from": source, "to": target, "when": condition}
        case "switch":
            return {"from": source, "cases": [{"when": condition, "to": target}], "default": other}
        case "out":
            return {"from": source, "to": several, "select": f"[message % {len(several)}]"}
        case "in":
            return {"from": several, "to": target, "message": "{{ state.n }}"}
    wait = random.choice(["any", 1, 2])
    return {"from": several, "to": target, "wait": wait, "message": "{{ state.n }}"}


def ready_graph(random: random.Random) -> dict[str, Any]:
    """An acyclic graph, most of the time one whose nodes may start as soon as they can."""
    names = [f"n{number}" for number in range(random.randint(2, 9))]
    nodes: dict[str, dict[str, Any]] = {name: {"function": name} for name in names}
    edges: list[dict[str, Any]] = []
    start, waiting = [names[0]], names[1:]
    while waiting:
        name = waiting.pop(0)
        before = names[: names.index(name)]
        sources = random.sample(before, random.randint(0, min(3, len(before))))
        if not sources:
            start.append(name)
        elif len(sources) > 1:
            edges.append({"from": sources, "to": name, "message": "{{ str(message) }}"})
        else:
            edges.append(_ready_edge(random, sources[0], name, waiting))
        _decorate(random, nodes, name, before)
    random.shuffle(edges)
    shuffled = list(nodes.items())
    random.shuffle(shuffled)
    keys = {f"{name} key": {"merge": "append"} for name in names}
    return {"nodes": dict(shuffled), "edges": edges, "start": start, "state": keys}


def _ready_edge(
    random: random.Random, source: str, target: str, waiting: list[str]
) -> dict[str, Any]:
    """An edge to a node, or to the next one as well."""
    condition = "len(str(message)) % 4 > 0"
    kind = random.choice(["direct", "direct", "when", "switch", "out"])
    if kind == "when":
        return {"from": source, "to": target, "when": condition}
    if kind == "direct" or not waiting:
        return {"from": source, "to": target}
    other = waiting.pop(0)
    if kind == "out":
        return {"from": source, "to": [target, other], "select": "[len(str(message)) % 2]"}
    return {"from": source, "cases": [{"when": condition, "to": target}], "default": other}


def _decorate(
    random: random.Random, nodes: dict[str, dict[str, Any]], name: str, before: list[str]
) -> None:
    """Give a node more to do: entries, a condition, an error handler, a write, a look back."""
    node = nodes[name]
    match random.randint(0, 9):
        case 0:
            node["each"] = "[message, str(message), 3]"
        case 1:
            node["when"] = "len(str(message)) % 3 > 0"
        case 2:
            node["on_error"] = "continue"
        case 3:
            del node["function"]
            node["set"] = {f"{name} key": "{{ str(message) }}"}
        case 4:
            other = random.choice(before)
            node["when"] = f"len(str(steps.{other}.output) + str(state['{other} key'])) > 5"
        case 5:
            node["on_error"] = f"{name} mend"
            nodes[f"{name} mend"] = {"function": "mend"}


def number_of(node: str, message: Any) -> int:
    """A number that depends on the message and the node alone."""
    text = json.dumps([node, message], sort_keys=True)
    return zlib.crc32(text.encode()) % 1_000


def number(given: CallInput) -> int:
    """The number of a call."""
    return number_of(given.node.name, given.message)


def logged(given: CallInput) -> Any:
    """Work of a node of ``any_graph``: a number, and what it writes to the state."""
    found = number(given)
    if found % 11 == 0:
        raise ValueError(f"{found}")
    writes = (Write("log", "append", [given.node.name, found]), Write("n", "add", found))
    return result(found, writes=writes)


def plain(given: CallInput) -> Any:
    """Work of a node of ``ready_graph``."""
    found = number(given)
    if given.node.on_error != "fail" and found % 3 == 0:
        raise ValueError(f"{found}")
    return f"{given.node.name}{found}"
