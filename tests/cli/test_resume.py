"""`heartbit resume`: what a killed `heartbit run` left goes on in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from agents.actions.runs import cancel_run
from agents.models import Run
from heartbit_site.first_start import default_workspace
from tests.cli.terminal import PROMPT, Terminal
from tests.fleet import wait_until

if TYPE_CHECKING:
    from tests.command import Command
    from tests.fleet import Worker

SIX = 'Six. [[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


def abandoned(heartbit: Command) -> Run:
    """A local run that waits for approval, and whose process was killed."""
    task = f"{SIX} [[run: {uuid4()}]]"
    process = heartbit.start("run", task, "--agent", "analyst", "--approve")
    found = Run.objects.filter(task=task)
    wait_until(lambda: found.filter(status="waiting").exists(), what="the run waits")
    process.kill()
    heartbit.end(process)
    return found.get()


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


def test_a_waiting_run_is_taken_over_and_asked_about_at_the_terminal(heartbit: Command) -> None:
    run = abandoned(heartbit)
    with Terminal("resume", str(run.pk)) as terminal:
        assert '"expression": "6*7"' in terminal.sees(PROMPT)
        terminal.types("a")
        assert terminal.ends() == (0, "Done.\n")


def test_a_waiting_run_is_decided_while_nobody_is_there_and_then_resumed(
    heartbit: Command,
) -> None:
    run = abandoned(heartbit)
    decided = heartbit("approve", str(run.pk), "--yes")
    assert decided.code == 0
    assert f"`heartbit resume {str(run.pk)[:13]}" in decided.err
    resumed = heartbit("resume", str(run.pk), "--json")
    assert (resumed.code, resumed.json["output"]) == (0, "Done.")


def test_without_a_terminal_a_run_that_waits_is_left_and_the_command_named(
    heartbit: Command,
) -> None:
    run = abandoned(heartbit)
    left = heartbit("resume", str(run.pk))
    name = str(run.pk)[:13]
    assert (left.code, left.out) == (4, "")
    assert f"heartbit approve {name}" in left.err
    assert f"`heartbit resume {name}" in left.err
    told = heartbit("resume", str(run.pk), "--json")
    assert (told.code, told.json["status"]) == (4, "waiting")
    run.refresh_from_db()
    assert run.status == "waiting"


def test_without_a_terminal_a_waiting_run_of_the_fleet_is_left_as_well(
    heartbit: Command, worker: Worker
) -> None:
    task = f"{SIX} [[run: {uuid4()}]]"
    assert heartbit("submit", task, "--agent", "analyst", "--approve").code == 0
    run = Run.objects.get(task=task)
    wait_until(
        lambda: Run.objects.filter(pk=run.pk, status="waiting").exists(), what="the run waits"
    )
    left = heartbit("resume", str(run.pk))
    assert (left.code, left.out) == (4, "")
    assert f"heartbit approve {str(run.pk)[:13]}" in left.err


def test_a_run_that_is_worked_on_is_watched(heartbit: Command) -> None:
    task = f"wait [[hang: headers]] [[run: {uuid4()}]]"
    process = heartbit.start("run", task, "--agent", "writer")
    found = Run.objects.filter(task=task)
    wait_until(lambda: found.filter(status="running").exists(), what="the run works")
    watching = heartbit.start("resume", str(found.get().pk))
    assert watching.stderr is not None
    told = watching.stderr.readline()
    cancel_run(default_workspace(), found.get().pk, reason="test")
    codes = [heartbit.end(one).code for one in (watching, process)]
    assert f":{process.pid} works on it; this one watches." in told
    assert codes == [130, 130]
