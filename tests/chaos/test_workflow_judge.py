"""The judge of workflows finds what was planted: one that passes everything proves nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.records import Asked, Call, Effect, Event, Kill, Records, Run
from tests.chaos.workflow_kills.judge import Journey, differences, outside, story
from tests.chaos.workflow_kills.measures import (
    most_at_once,
    repeated_requests,
    supersteps_hit,
    windows,
)

COMMITTED = {"superstep": 0, "taken": [{"edge": 0, "source": "a", "target": "b"}]}


def finished(seq: int, call_id: str, **more: Any) -> Event:
    payload = {"call_id": call_id, "node": "log", "output": "stored r-0-/log", "duration_ms": seq}
    return Event(seq, "node.finished", float(seq), payload | more)


def sound() -> Journey:
    events = (
        Event(1, "run.created", 1.0, {}),
        Event(2, "graph.committed", 2.0, COMMITTED),
        finished(3, "0.0"),
        finished(4, "0.1"),
        Event(5, "run.succeeded", 5.0, {"output": "r-0-"}),
    )
    calls = (
        Call("0.0", "log", "idempotent", "ok", ""),
        Call("0.1", "log", "at_most_once", "ok", ""),
    )
    return Journey(Run("run", "r-0-", "succeeded", events, calls), "r-0-", "trip0")


def with_events(*events: Event) -> Journey:
    return replace(sound(), run=replace(sound().run, events=events))


def test_times_names_and_the_order_of_completion_make_no_difference() -> None:
    first, second, *rest = sound().run.events
    twin = with_events(replace(first, at=9.0), second, *reversed(rest[:2]), rest[2])
    named = [
        replace(event, payload=_renamed(event.payload, "r-0-", "r-7-")) for event in twin.run.events
    ]
    other = replace(with_events(*named), name="r-7-")
    assert differences([sound(), other], {"trip0": story(twin)}) == []


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(each, old, new) for key, each in value.items()}
    return value.replace(old, new) if isinstance(value, str) else value


@pytest.mark.parametrize("is_ordered", [True, False])
@pytest.mark.parametrize(
    ("number", "payload", "sentence"),
    [
        (2, {"output": "another"}, "the results of trip0 r-0- differ"),
        (2, {"attempt": 2}, "the results of trip0 r-0- differ"),
        (1, {"taken": []}, "the commits of trip0 r-0- differ"),
        (4, {"output": "x"}, "trip0 r-0- ended as ('run.succeeded', 'x', None)"),
    ],
)
def test_a_run_that_is_not_as_its_twin_is_named(
    number: int, payload: dict[str, Any], sentence: str, *, is_ordered: bool
) -> None:
    events = list(sound().run.events)
    events[number] = replace(events[number], payload=events[number].payload | payload)
    twin = replace(sound(), is_ordered=is_ordered)
    other = replace(with_events(*events), is_ordered=is_ordered)
    [found] = differences([other], {"trip0": story(twin)})
    assert found.startswith(sentence)


def test_a_result_twice_and_a_run_without_an_end_are_named() -> None:
    expected = {"trip0": story(sound())}
    events = sound().run.events
    [doubled] = differences([with_events(*events[:4], events[3], events[4])], expected)
    assert "the results" in doubled
    lost = replace(sound(), run=replace(sound().run, status="running"))
    assert differences([lost], expected) == ["trip0 r-0- is lost: running"]


STORED, SENT = Effect("store", "run:0.0", "r/log", 3.0), Effect("send", "run:0.1", "r/send", 3.0)


@pytest.mark.parametrize(
    ("effects", "twice", "doubled", "strangers"),
    [
        ([STORED, SENT], 0, 0, []),
        ([STORED, STORED, SENT], 0, 0, []),
        ([STORED, SENT, SENT], 1, 0, []),
        ([STORED, SENT, replace(SENT, op="r/log")], 1, 1, []),
        ([STORED], 0, 0, ["run:0.1 had no effect"]),
        ([STORED, SENT, replace(SENT, key="run:9.9")], 0, 1, ["the effect run:9.9 belongs to no"]),
    ],
)
def test_effects_are_joined_with_calls(
    effects: list[Effect], twice: int, doubled: int, strangers: list[str]
) -> None:
    found = outside([sound().run], effects, {})
    assert (found.twice, found.keys_doubled) == (twice, doubled)
    assert [each[: len(part)] for each, part in zip(found.strangers, strangers, strict=True)] == (
        strangers
    )


def test_a_fork_repeats_nothing_that_it_has_copied() -> None:
    forked = Event(5, "run.forked", 5.0, {"seq": 3})
    fork = replace(sound().run, id="fork", events=(*sound().run.events[:4], forked))
    again = replace(SENT, key="fork:0.1")
    assert outside([sound().run, fork], [STORED, SENT, again], {"fork": "run"}).strangers == []
    copied = replace(STORED, key="fork:0.0")
    found = outside([sound().run, fork], [STORED, SENT, again, copied], {"fork": "run"})
    assert found.strangers == ["the effect fork:0.0 is one that a fork repeated"]


def entries(*times: float) -> Records:
    asked = tuple(Asked(f"r/visit/{number}", 1, at) for number, at in enumerate(times))
    runs = tuple(
        Run(f"child{number}", f"r/visit/{number}", "succeeded", (), ())
        for number in range(len(times))
    )
    return Records(runs, asked, (), ())


def test_a_window_is_measured_by_what_is_under_way_at_once() -> None:
    assert most_at_once([(0, 1), (1, 2), (0.5, 1.5)]) == 2
    limits, lineages = {"visit": 2}, {"r": 1}
    kept = windows(entries(0, 0.5, 1.0), limits, lineages, {}, seconds=1)
    assert kept == ({"visit": 2}, 0)
    exceeded = windows(entries(0, 0.5, 0.9), limits, lineages, {}, seconds=1)
    assert exceeded == ({"visit": 3}, 1)
    died = {"child0": [Kill(0.6, "0:1", ("child0",))]}
    assert windows(entries(0, 0.5, 0.9), limits, lineages, died, seconds=1) == ({"visit": 2}, 0)


def test_a_request_is_repeated_only_after_a_kill() -> None:
    left = entries(0)
    asked = (*left.asked, *left.asked)
    assert repeated_requests(asked, left.runs, {}) == 1
    assert repeated_requests(asked, left.runs, {"child0": [Kill(1.0, "0:1", ("child0",))]}) == 0


def test_a_superstep_is_hit_by_the_death_of_its_run_or_of_a_childs() -> None:
    child = Run("child", "r/visit/0", "succeeded", (), ())
    kills = tuple(Kill(at, "0:1", held) for at, held in [(1.5, ("run",)), (3.0, ("child",))])
    parents = {"run": "", "child": "run"}
    left = Records((sound().run, child), (), (), kills)
    assert supersteps_hit(left, parents) == {("run", 1): False}
    left = replace(left, kills=(*kills, Kill(4.0, "0:1", ("run",)), Kill(9.0, "0:1", ("run",))))
    assert supersteps_hit(left, parents) == {("run", 1): True}
