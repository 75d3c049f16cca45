"""The bench measures what it says, in the form that is asked for, and says no when it must."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from agents.choices import RunStatus
from agents.models import Run, Wait
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import Effect
from tests.bench import bulk, costs, report, session, workspace
from tests.bench.bare_model import BareModel, long_conversation
from tests.bench.doors import doors
from tests.bench.figures import Figure, Row, percentile
from tests.bench.flow import Flow, Job, times, unfinished, wait_ended
from tests.bench.latency import figures, timings
from tests.bench.names import NAMES
from tests.bench.plan import QUICK
from tests.bench.profiles import summary
from tests.bench.rounds import combined
from tests.bench.toolbox.agent_tools import look_up, note
from tests.bench.workloads import SOLO, WORKLOADS
from tests.clusters import durable
from tests.fleet import wait_until
from tests.server_process import ROOT
from tools.definitions.registry import marked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet import WireServer, Worker

KEYS = {
    "workload",
    "path",
    "pass",
    "p50_ms",
    "p95_ms",
    "overhead_ms",
    "model_call_ms",
    "floors_overhead_ms",
    "figures",
}


@pytest.mark.usefixtures("database")
@pytest.mark.paced  # medians of five runs each
def test_each_door_of_a_workload_is_a_row_with_the_floors(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="fsync is off"):
        next(session.measure(["W1"], QUICK))
    with durable():
        wait_until(lambda: set(costs.durability().values()) == {"on"}, what="reloaded")
        rows = list(session.measure(["W1"], replace(QUICK, runs=5, warm_up=2)))
    assert [row.path for row in rows] == [
        "internal durable",
        "REST with wait",
        "REST in one request",
        "OpenAI chat completion",
        "MCP tool call",
        "submit",
        "internal in process",
        "library",
    ]
    found = [row.to_json() for row in rows]
    for row in found:
        assert row.keys() >= KEYS
        assert row["model_call_ms"] > 0
        assert row["p50_ms"] <= row["p95_ms"]
        assert row["overhead_ms"] == pytest.approx(row["p50_ms"] - row["model_call_ms"], abs=0.02)
    path = tmp_path / "bench.json"
    report.merge(path, found, keys=("workload", "path"))
    report.merge(path, found[:1], keys=("workload", "path"))
    assert path.read_text().count('"workload": "W1"') == len(rows)
    assert "| W1, one model call |" in report.tables(rows)


DOORS = {door.name: door(Workspace()) for door in doors()}
MS = {
    "the model alone": [5.0],
    "bare asyncio": [21.0],
    "bare Celery": [30.0],
    "internal durable": [29.0],
    "REST with wait": [32.5],
    "REST in one request": [31.5],
    "internal in process": [40.0],
    "library": [43.5],
}


def test_given_model_calls_on_the_critical_path_then_their_own_time_is_no_overhead() -> None:
    row = timings(WORKLOADS["W4"], DOORS["internal durable"], MS)
    assert row["overhead_ms"] == 9.0
    assert row["floors_overhead_ms"] == {"bare asyncio": 1.0, "bare Celery": 10.0}


@pytest.mark.parametrize(
    ("door", "expected"),
    [
        ("internal durable", [("ratio to bare Celery", 0.9, True)]),
        (
            "REST with wait",
            [("ratio to bare Celery", 1.25, True), ("more than internal durable", 3.5, False)],
        ),
        (
            "REST in one request",
            [("ratio to bare Celery", 1.15, True), ("more than internal durable", 2.5, True)],
        ),
        ("internal in process", [("ratio to bare asyncio", 20, True)]),
        (
            "library",
            [("ratio to bare asyncio", 23.5, True), ("ratio to internal in process", 1.175, False)],
        ),
    ],
)
def test_a_door_is_judged_beside_others_of_the_same_run(
    door: str, expected: list[tuple[str, float, bool]]
) -> None:
    found = figures(WORKLOADS["W4"], DOORS[door], MS)
    assert [(each.name, round(each.value, 6), each.met) for each in found] == expected
    extra = figures(WORKLOADS["W4-pure"], DOORS[door], MS)
    assert [each.target for each in extra] == [None]


def test_the_tools_of_the_workloads_are_of_the_default_effect_class() -> None:
    found = {spec.name: spec.effect for spec in marked([look_up, note])}
    assert found == {"look_up": Effect.AT_MOST_ONCE, "note": Effect.AT_MOST_ONCE}


def test_given_missed_targets_when_reported_then_they_are_listed_last() -> None:
    slow = Figure("wall", 12.5, "s", 10)
    few = Figure("W1 a second", 80, "/s", 100, at_least=True)
    never = Figure("all done after the kill", math.nan, "s", 10)
    held = Figure("lost", 0, "runs", 0)
    rows = [
        Row("W7", "durable", (held, slow, few), {"profile": "profile-W7.txt"}),
        Row("W8", "durable", (held, never)),
        Row("RATE", "W1", (held, Figure("database connections", 13, ""))),
    ]
    assert [row.passed for row in rows] == [False, False, True]
    assert report.tables(rows).splitlines()[-4:] == [
        "3 targets held, 3 missed",
        "missed: W7 durable: wall 12.50 s, target <= 10 s (profile: build/profile-W7.txt)",
        "missed: W7 durable: W1 a second 80 /s, target >= 100 /s (profile: build/profile-W7.txt)",
        "missed: W8 durable: all done after the kill nan s, target <= 10 s",
    ]


def _row(*, ms: float, lost: int = 0) -> Row:
    figures = (Figure("wall", ms, target=10), Figure("lost", lost, "runs", 0))
    return Row("W7", "durable", figures, {"cpu": {"workers": ms}, "profile": "a"})


def test_given_rounds_then_the_median_of_all_of_them_counts_and_each_is_told() -> None:
    row = combined([_row(ms=8), _row(ms=30), _row(ms=12)])
    assert row.figures[0].value == 12
    assert not row.passed
    assert row.also["rounds"]["wall"] == [8, 30, 12]
    assert row.also["cpu"] == {"workers": 12}


def test_given_what_must_be_0_when_one_round_has_it_then_it_is_a_miss() -> None:
    row = combined([_row(ms=9), _row(ms=9, lost=1), _row(ms=9)])
    assert [figure.met for figure in row.figures] == [True, False]


def test_given_a_round_without_a_figure_then_it_is_a_miss() -> None:
    assert not combined([_row(ms=9), _row(ms=math.nan), _row(ms=9)]).passed


def test_a_signal_that_becomes_another_exception_is_still_the_end() -> None:
    code = """
import os, signal
from tests.bench.endings import ended_with_children
with ended_with_children():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except SystemExit as error:
        raise ValueError from error
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert ended.returncode == 128 + signal.SIGTERM


def test_given_a_signal_when_measuring_then_no_process_is_left() -> None:
    command = [sys.executable, "-m", "tests.bench", "--quick", "--only", "W1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as bench:
        started = psutil.Process(bench.pid)
        wait_until(
            lambda: any("tests.bench.celery_app" in each for each in _commands(started)),
            seconds=90,
            what="the bench has children",
        )
        below = started.children(recursive=True)
        bench.terminate()
        assert bench.wait(timeout=90) == 128 + signal.SIGTERM
    wait_until(
        lambda: not [one for one in below if _runs(one)], seconds=20, what="its children have ended"
    )


def _commands(process: psutil.Process) -> list[str]:
    return [" ".join(child.cmdline()) for child in process.children(recursive=True) if _runs(child)]


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_every_measurement_can_be_named() -> None:
    assert set(NAMES) == session.names()
    assert math.isnan(percentile([], 0.5))


def test_given_a_longer_conversation_then_the_model_server_answers_that_turn(
    wire_server: WireServer,
) -> None:
    task = "[[run: bench-long]] [[rounds: 30]] [[calls: current_time {}]]"
    with BareModel(wire_server.url) as model:
        assert model.ask(long_conversation(task, 20), ()) > 0
        assert model.ask([{"role": "user", "content": task}], ()) > 0
    assert set(wire_server.stats()["runs"]["bench-long"]["turns"]) == {"0", "19"}


@pytest.fixture
def bench(worker: Worker) -> Workspace:
    """A workspace of the bench's agents, whose runs the session's worker executes."""
    return workspace.create(queue="agents")


def test_given_a_closed_loop_when_it_is_over_then_every_run_is_known_with_its_times(
    bench: Workspace,
) -> None:
    with Flow(bench) as flow:
        ids = flow.loop(Job(SOLO, "Hello."), at_once=4, seconds=0.3)
        assert wait_ended(ids, seconds=30) == 0
    assert len(ids) >= 4
    seen = times(ids)
    assert {each.id for each in seen} == set(ids)
    assert all(each.status == "succeeded" and 0 < each.seconds < 30 for each in seen)
    assert unfinished(ids) == []


def test_given_a_finished_run_when_copied_then_the_copies_are_whole_and_can_be_removed(
    bench: Workspace,
) -> None:
    with Flow(bench) as flow:
        ids = flow.at_once([Job(SOLO, "Hello.")])
        assert wait_ended(ids, seconds=30) == 0
    mine = Run.objects.filter(workspace=bench)
    template = mine.get()
    bulk.waiting(template.pk, count=30)
    waits = Wait.objects.filter(run__in=mine, resolved_at__isnull=True)
    assert (mine.filter(status=RunStatus.WAITING).count(), waits.count()) == (30, 30)
    bulk.remove(bench.pk)
    assert bulk.finished(template.pk, count=40, seconds=60) == 40
    copies = mine.exclude(pk=template.pk)
    assert copies.count() == 40
    for copy in copies:
        assert (copy.root_id, copy.status, copy.output) == (copy.pk, "succeeded", template.output)
        assert copy.created_at < template.created_at
        assert copy.events.count() == template.events.count()
    bulk.remove(bench.pk)
    assert list(mine) == [template]


def test_a_profile_names_the_functions_by_their_own_time() -> None:
    text = summary("main (a.py:1);work (a.py:2) 3\nmain (a.py:1);wait (a.py:9) 1\n")
    assert text.index("75.0%  work (a.py:2)") < text.index("25.0%  wait (a.py:9)")
    assert "100.0%  main (a.py:1)" in text
