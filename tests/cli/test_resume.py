"""`heartbit resume`: what a killed `heartbit run` left goes on in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from agents.models import Run
from tests.fleet import wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Command

SIX = 'Six. [[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


def test_a_run_whose_process_was_killed_goes_on_and_ends(heartbit: Command) -> None:
    task = f"slow [[latency: 1500]] [[text: Slept.]] [[run: {uuid4()}]]"
    process = heartbit.start("run", task, "--agent", "writer")
    found = Run.objects.filter(task=task)
    wait_until(lambda: found.filter(status="running").exists(), what="the run works")
    run = found.get()
    process.kill()
    heartbit.end(process)
    resumed = heartbit("resume", str(run.pk)[:18])
    assert (resumed.code, resumed.out) == (0, "Slept.\n")
    assert f"Going on with run {run.pk} here." in resumed.err
    over = heartbit("resume", str(run.pk))
    assert (over.code, over.out) == (2, "")
    assert "succeeded already: `heartbit result" in over.err


def test_a_waiting_run_is_decided_while_nobody_is_there_and_then_resumed(
    heartbit: Command,
) -> None:
    task = f"{SIX} [[run: {uuid4()}]]"
    process = heartbit.start("run", task, "--agent", "analyst", "--approve")
    found = Run.objects.filter(task=task)
    wait_until(lambda: found.filter(status="waiting").exists(), what="the run waits")
    process.kill()
    heartbit.end(process)
    run = found.get()
    decided = heartbit("approve", str(run.pk), "--yes")
    assert decided.code == 0
    assert f"`heartbit resume {str(run.pk)[:13]}" in decided.err
    resumed = heartbit("resume", str(run.pk), "--json")
    assert (resumed.code, resumed.json["output"]) == (0, "Done.")


def test_a_run_that_is_worked_on_is_watched(heartbit: Command) -> None:
    task = f"slow [[latency: 2500]] [[text: Slept.]] [[run: {uuid4()}]]"
    process = heartbit.start("run", task, "--agent", "writer")
    found = Run.objects.filter(task=task)
    wait_until(lambda: found.filter(status="running").exists(), what="the run works")
    watched = heartbit("resume", str(found.get().pk))
    assert (watched.code, watched.out) == (0, "Slept.\n")
    assert f":{process.pid} works on it; this one watches." in watched.err
    assert heartbit.end(process).out == "Slept.\n"
