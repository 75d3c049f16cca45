"""The graphs, by the number of their case in the design of workflows, with what they end in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Case:
    """A graph with its input.

    Attributes:
        given: Input: a text, an object or a list.
        output: Output of the run, or what its failure says.
        is_failure: True if the run fails.
    """

    graph: dict[str, Any]
    given: Any
    output: Any
    is_failure: bool = False


def keep(*names: str, **others: Any) -> dict[str, Any]:
    """Nodes that return their message, and others."""
    return {name: {"function": "keep"} for name in names} | others


def edge(source: Any, target: Any, **more: Any) -> dict[str, Any]:
    """An edge."""
    return {"from": source, "to": target, **more}


COUNTED: Final = {"n": {"merge": "add", "initial": 0}}
_DIAMOND: Final = {
    "nodes": keep("a", "b", "c", "d"),
    "start": "a",
    "edges": [
        edge("a", "b", when="'b' in message"),
        edge("a", "c", when="'c' in message"),
        edge(["b", "c"], "d"),
        {"from": "a", "when": "message == 'none'", "output": "nothing"},
    ],
}
_SWITCH: Final = {
    "nodes": keep("a", "b", "c", "d"),
    "start": "a",
    "edges": [
        {
            "from": "a",
            "cases": [
                {"when": "message.n > 5", "to": "b"},
                {"when": "message.n > 3", "to": "c"},
            ],
            "default": "d",
        },
        *({"from": name, "output": f"{name} {{{{ message.n }}}}"} for name in "bcd"),
    ],
}
_NO_DEFAULT: Final = {
    **_SWITCH,
    "nodes": keep("a", "b"),
    "edges": [{"from": "a", "cases": [{"when": "message.n > 5", "to": "b"}]}],
}
_ENTRIES: Final = {
    "nodes": {
        "some": {
            "each": "input.list",
            "function": "refuse_thirds",
            "max_parallel": 4,
            "on_error": "continue",
        },
        "end": {"function": "keep"},
    },
    "start": "some",
    "edges": [edge("some", "end", message="{{ len(steps.some.errors) }}")],
    "output": "{{ [steps.some.output, steps.end.output] }}",
}
_MERGES: Final = {
    "nodes": {
        name: {"each": f"[{number}]", "function": "name_itself"}
        for number, name in enumerate("dabc", 1)
    },
    "start": list("abcd"),
    "state": {
        "list": {"merge": "append"},
        "sum": {"merge": "add", "initial": 100},
        "least": {"merge": "min"},
        "most": {"merge": "max", "initial": 0},
        "object": {"merge": "merge"},
    },
    "output": "{{ [state.list, state.sum, state.least, state.most, state.object] }}",
}
_COUNTER: Final = {
    "nodes": {"up": {"function": "count"}},
    "start": "up",
    "state": COUNTED,
    "edges": [
        edge("up", "up", when="state.n < 5"),
        {"from": "up", "when": "state.n >= 5", "output": "{{ state.n }}"},
    ],
}

#: A text of a megabyte, appended to the state twelve times.
_LARGE: Final = {
    "nodes": {"up": {"set": {"n": 1, "list": "{{ input.text }}"}}},
    "start": "up",
    "state": COUNTED | {"list": {"merge": "append", "initial": []}},
    "edges": [
        edge("up", "up", when="state.n < 12", message="again"),
        {"from": "up", "when": "state.n >= 12", "output": "{{ [len(state.list), state.n] }}"},
    ],
}
_MEGABYTE: Final = {"text": "x" * 1_000_000}

CASES: Final = {
    "4: all sources": Case(_DIAMOND, "bc", {"b": "bc", "c": "bc"}),
    "4: a skipped branch": Case(_DIAMOND, "c", {"b": None, "c": "c"}),
    "4: all skipped": Case(_DIAMOND, "none", "nothing"),
    "4: nested": Case(
        {
            "nodes": keep("a", "b", "c", "slow1", "slow2", "inner", "outer"),
            "start": ["a", "b", "c", "slow1"],
            "edges": [
                edge("slow1", "slow2"),
                edge(["inner", "c"], "outer"),
                edge(["a", "b", "slow2"], "inner"),
            ],
        },
        "x",
        {"inner": {"a": "x", "b": "x", "slow2": "x"}, "c": "x"},
    ),
    "4: in a loop twice": Case(
        {
            "nodes": keep("split", "b", "c", join={"function": "count"}),
            "start": "split",
            "state": COUNTED,
            "edges": [
                edge("split", ["b", "c"]),
                edge(["b", "c"], "join"),
                edge("join", "split", when="state.n < 2", message="again"),
                {"from": "join", "when": "state.n >= 2", "output": "{{ message }}"},
            ],
        },
        "x",
        {"b": "again", "c": "again"},
    ),
    "4: a source that delivers twice": Case(
        {
            "nodes": keep("b", "d", a={"function": "send_twice"}),
            "start": ["a", "b"],
            "edges": [edge(["a", "b"], "d")],
        },
        "x",
        [{"a": ["x", 1], "b": "x"}, {"a": ["x", 2], "b": None}],
    ),
    "5: the first of overlapping cases": Case(_SWITCH, {"n": 9}, "b 9"),
    "5: the default": Case(_SWITCH, {"n": 1}, "d 1"),
    "5: no match": Case(_NO_DEFAULT, {"n": 1}, 'No edge of the node "a" applies', is_failure=True),
    "5: a condition that raises": Case(
        _SWITCH, {"n": {}}, "compares a number and an object", is_failure=True
    ),
    "6: a loop back into one arm of a diamond": Case(
        {
            "nodes": keep("a", "c", "done", "d", b={"function": "count"}),
            "start": "a",
            "state": COUNTED,
            "edges": [
                edge("a", ["b", "c"]),
                {"from": "b", "cases": [{"when": "state.n < 3", "to": "b"}], "default": "done"},
                edge(["done", "c"], "d"),
            ],
            "output": "{{ [steps.d.output, state.n] }}",
        },
        "x",
        [{"done": "x", "c": "x"}, 3],
    ),
    "7: a self-edge with a counter": Case(_COUNTER, "x", 5),
    "7: its limit names the node": Case(
        {**_COUNTER, "limits": {"supersteps": 3}},
        "x",
        "limit of 3 supersteps, and continues with up",
        is_failure=True,
    ),
    "9: a message of a megabyte to fifty nodes": Case(
        {
            "nodes": keep("a", *(f"n{number}" for number in range(50)))
            | {"a": {"set": {"big": "{{ message.text }}"}}, "end": {"function": "keep"}},
            "start": "a",
            "state": {"big": {}},
            "edges": [
                edge("a", [f"n{number}" for number in range(50)]),
                edge([f"n{number}" for number in range(50)], "end", message="{{ len(message) }}"),
            ],
            "output": "{{ [len(state.big), steps.end.output] }}",
        },
        _MEGABYTE,
        [1_000_000, 50],
    ),
    "9: twelve megabytes of state": Case(
        _LARGE | {"limits": {"state_bytes": 20_000_000}}, _MEGABYTE, [12, 12]
    ),
    "9: its limit is named": Case(
        _LARGE,
        _MEGABYTE,
        "The state has more than 10,000,000 bytes: write less, or raise limits.state_bytes.",
        is_failure=True,
    ),
    "15: names with any characters": Case(
        {
            "nodes": keep("первый шаг", "b.c d", "🦊"),
            "start": "первый шаг",
            "state": {"ключ 🔑": {"merge": "add", "initial": 0}},
            "edges": [
                edge("первый шаг", "b.c d", when="state['ключ 🔑'] == 0"),
                edge("b.c d", "🦊", message="{{ steps['первый шаг'].output }}"),
            ],
        },
        "ü 🦉",
        "ü 🦉",
    ),
    "18: several writers of each merge": Case(
        _MERGES,
        "x",
        [[1, 2, 3, 4], 110, 1, 4, {"k1": 1, "k2": 2, "k3": 3, "k4": 4}],
    ),
    "18: two writers that set a key": Case(
        {
            "nodes": {name: {"function": "set_winner"} for name in "ab"},
            "start": ["a", "b"],
            "state": {"winner": {}},
        },
        "x",
        'The nodes "a" and "b" set the state\'s key "winner" in one',
        is_failure=True,
    ),
    "20: some entries fail": Case(
        _ENTRIES,
        {"list": list(range(30))},
        [[number * 10 if number % 3 else None for number in range(30)], 10],
    ),
}
