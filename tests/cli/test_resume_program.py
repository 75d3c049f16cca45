"""A program that was killed continues its run, with its own tools and callbacks."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
from django.db.models.functions import Now

from agents.actions.fork_run import fork_run
from agents.models import Run
from tests.fleet import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Command
    from tests.fleet import Worker

pytestmark = pytest.mark.usefixtures("wire_server")

PROGRAM = """
import sys, time
from heartbit_site.library import Heartbit
def pay(n: int) -> str:
    "Pay."
    print("paid", n, flush=True)
    return "paid"
def ask(approval):
    print(approval.run_id, flush=True)
    if "ask" in sys.argv:
        time.sleep(600)
    return True
team = Heartbit().agent("solo", "Work.", tools=[pay]).on_approval(ask)
"""
START = PROGRAM + "team.run(sys.argv[2])"
RESUME = PROGRAM + "print(team.resume(sys.argv[1]).expect().text)"
CHANGED = PROGRAM.replace("Pay.", "Pay more.") + "team.resume(sys.argv[1])"


@pytest.fixture
def killed(tmp_path: Path) -> UUID:
    """A run whose program was killed while its callback was asked about a call."""
    task = f'[[calls: pay {{"n": 1}}]] [[text: Done.]] [[run: {uuid4()}]]'
    process = subprocess.Popen(
        [sys.executable, "-c", START, "ask", task], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    run_id = UUID(process.stdout.readline().strip())
    process.kill()
    process.communicate()
    return run_id


def resumed(program: str, run_id: UUID) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", program, str(run_id)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_killed_program_is_asked_again_and_continues(killed: UUID) -> None:
    ended = resumed(RESUME, killed)
    assert (ended.stdout, ended.returncode) == (f"{killed}\npaid 1\nDone.\n", 0), ended.stderr
    assert f"Run {killed} succeeded already" in resumed(RESUME, killed).stderr


def test_no_other_process_continues_without_the_programs_tool(
    killed: UUID, heartbit: Command
) -> None:
    sentence = (
        f"Run {killed} needs its Python program, whose tool pay this process does not have as it "
        f'was when the run began: continue in that program with .resume("{killed}").'
    )
    decided = heartbit("approve", str(killed), "--yes")
    assert (decided.code, decided.err) == (0, f"Its process has ended. {sentence}\n")
    refused = heartbit("resume", str(killed))
    assert refused.code != 0
    assert sentence in refused.err
    assert sentence in resumed(CHANGED, killed).stderr
    ended = resumed(RESUME, killed)
    assert (ended.stdout, ended.returncode) == ("paid 1\nDone.\n", 0), ended.stderr


def test_a_worker_leaves_a_fork_to_the_program(killed: UUID, worker: Worker) -> None:
    forked = fork_run(Run.objects.get(pk=killed), 0).run_id
    released = Run.objects.filter(
        pk=forked, status="queued", lease_token__gt=0, available_at__gt=Now()
    )
    wait_until(released.exists, what="a worker releases the run")
    assert f"Run {forked} is executed by the fleet" in resumed(RESUME, forked).stderr
