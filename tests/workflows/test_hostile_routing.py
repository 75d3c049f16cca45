"""Routing of what nodes send is linear, bounded, and done beside the worker's loop."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.save_agent import create_agent
from agents.workflows.records import Sent, Write
from agents.workflows.routing import draft
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.pace import in_time
from tests.workflows.driver import functions, play, result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.runtime.conftest import Studio

pytestmark = pytest.mark.paced
MANY = 9_999
MOST_SECONDS = 2.0
LONG = "x" * 1_000_000


@pytest.fixture
def routed() -> Iterator[None]:
    """Limit on the time in which a test's graph is routed."""
    began = time.thread_time()
    yield
    in_time(time.thread_time() - began, MOST_SECONDS)


@pytest.mark.usefixtures("routed")
@pytest.mark.parametrize(
    ("made", "outputs"),
    [
        ({"yields": (1,)}, MANY + 1),
        ({"sends": (Sent(1),)}, MANY + 1),
        ({"writes": (Write("log", "append", 1),)}, 1),
    ],
    ids=["yields", "sends", "writes"],
)
def test_what_thousands_of_entries_make_is_routed_in_linear_time(
    made: dict[str, Any], outputs: int
) -> None:
    graph = {
        "nodes": functions(each={"each": "message"}),
        "start": "each",
        "edges": [{"from": "each", "output": "{{ [message] }}"}],
        "state": {"log": {"merge": "append"}},
    }
    work = {"each": lambda _: result(1, **made)}
    played = play(graph, work, input=list(range(MANY)), is_stored=False)
    assert len(played.output) == outputs


@pytest.mark.usefixtures("routed")
def test_errors_of_thousands_of_entries_are_read_once() -> None:
    def broken(given: Any) -> Any:
        if given.message % 2:
            raise ValueError("no")
        return result(1, sends=(Sent(1),))

    graph = {
        "nodes": functions("a", each={"each": "message", "on_error": "continue"}),
        "start": "each",
        "edges": [
            {"from": "each", "to": "a", "when": "len(steps.each.errors) == 0"},
            {"from": "each", "when": "steps.each.error is not None", "output": "{{ message }}"},
        ],
    }
    played = play(graph, {"each": broken}, input=list(range(MANY)), is_stored=False)
    assert len(played.output) == (MANY + 1) // 2 + 1


@pytest.mark.usefixtures("routed")
def test_a_long_list_of_targets_is_looked_up() -> None:
    names = [f"n{number}" for number in range(900)]
    graph = {
        "nodes": functions("a", *names),
        "start": "a",
        "edges": [{"from": "a", "to": names, "select": "message"}],
    }
    assert play(graph, {"a": lambda _: [names[-1]] * 100_000}, is_stored=False).runs_of(names[-1])


@pytest.mark.usefixtures("routed")
def test_hundreds_of_fan_ins_deliver_in_one_superstep() -> None:
    targets = [f"t{number}" for number in range(300)]
    graph = {
        "nodes": functions("a", "b", *targets),
        "start": ["a", "b"],
        "edges": [{"from": ["a", "b"], "to": target} for target in targets],
    }
    assert len(play(graph, input=1, is_stored=False).output) == len(targets)


def test_too_much_work_ends_the_run_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "MAX_SECONDS", 0.2)
    names = [f"n{number}" for number in range(900)]
    schema = {"items": {"enum": [f"x{number}" for number in range(200)]}}
    graph = {
        "nodes": functions("a", **{name: {"input": schema} for name in names}),
        "start": "a",
        "edges": [{"from": "a", "to": names}],
    }
    failure = play(graph, {"a": lambda _: ["x199"] * 10_000}, is_stored=False).failure
    assert "than one superstep can route: send fewer" in failure.message


def test_too_many_edges_end_the_run_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "MAX_EDGES", 1_000)
    graph = {
        "nodes": functions("a", "b", "c"),
        "start": "a",
        "edges": [{"from": "a", "to": ["b", "c"], "select": "0"}],
    }
    played = play(graph, {"a": lambda _: result(sends=(Sent(1),) * 600)}, is_stored=False)
    assert 'The node "a" has sent more than one superstep can route' in played.failure.message


@pytest.mark.parametrize(
    ("edge", "output"),
    [
        ({"when": "message.none == 1"}, {LONG: 1}),
        ({"when": f"message['{'k' * 900}'] == 1"}, 1),
        ({"message": "{{ message + 1 }}"}, LONG),
    ],
    ids=["a long key", "a long name", "a long text"],
)
def test_an_error_names_no_megabytes(edge: dict[str, Any], output: Any) -> None:
    nodes = functions("b", a={"on_error": "continue"})
    graph = {"nodes": nodes, "start": "a", "edges": [{"from": "a", "to": "b", **edge}]}
    assert len(play(graph, {"a": lambda _: output}, is_stored=False).failure.message) < 2_000


def test_errors_of_thousands_of_entries_make_a_short_sentence() -> None:
    def broken(_: Any) -> Any:
        raise ValueError(LONG[:10_000])

    graph = {"nodes": functions(a={"each": "message"}), "start": "a", "failure": "finish"}
    failure = play(graph, {"a": broken}, input=list(range(MANY)), is_stored=False).failure
    assert failure.message.endswith(f"and {MANY - 100:,} more")
    assert len(failure.message) < 100_000


async def test_given_a_long_routing_when_a_loop_beside_it_runs_then_it_waits_less_than_a_second(
    studio: Studio, record_property: Callable[[str, object], None]
) -> None:
    """The commit takes seconds of the processor: a heartbeat beside it is not late."""
    names = [f"n{number}" for number in range(300)]
    schema = {"items": {"enum": [f"x{number}" for number in range(400)]}}
    nodes = {"a": {"set": {}}, **{name: {"set": {}, "input": schema} for name in names}}
    content = {
        "name": "wide",
        "nodes": nodes,
        "start": "a",
        "edges": [{"from": "a", "to": names}],
        "output": "done",
    }

    def make() -> None:
        create_agent(studio.workspace, WorkflowSpec.model_validate(content), by=SYSTEM)

    await orm.run_in_thread(make)
    task = json.dumps(["x399"] * 2_000)
    work = asyncio.ensure_future(studio.run(task, agent="wide", model=""))
    longest = 0.0
    while not work.done():
        before = time.monotonic()
        await asyncio.sleep(0.001)
        longest = max(longest, time.monotonic() - before)
    assert (await work).finished_at is not None, "with its end, or with too much to route"
    record_property("note:routing: waited", round(longest, 3))
    in_time(longest, 1.0)
