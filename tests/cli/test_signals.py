"""What signals do to `heartbit run`: Ctrl-C is about the run, the others are about the process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import termios
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from agents.models import Run
from tests.command import HEARTBIT, ROOT
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.command import Command


def slow() -> str:
    return f"slow [[latency: 4000]] [[text: Slept.]] [[run: {uuid4()}]]"


def at_work(task: str, meanwhile: Callable[[], None] = lambda: None) -> UUID:
    """The run, once a model has been asked."""

    def asks() -> bool:
        meanwhile()
        return Run.objects.filter(task=task, status="running").exists()

    wait_until(asks, what="the run works")
    return Run.objects.get(task=task).pk


def goes_on(heartbit: Command, run_id: UUID) -> None:
    assert Run.objects.get(pk=run_id).finished_at is None
    resumed = heartbit("resume", str(run_id))
    assert (resumed.code, resumed.out) == (0, "Slept.\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_is_left_as_it_is_and_can_be_resumed(
    heartbit: Command, number: signal.Signals
) -> None:
    task = slow()
    process = heartbit.start("run", task, "--agent", "writer")
    run_id = at_work(task)
    process.send_signal(number)
    ended = heartbit.end(process)
    assert (ended.code, ended.out) == (128 + number, "")
    last = ended.err.splitlines()[-1]
    assert number.name in last
    assert f"`heartbit resume {str(run_id)[:13]}" in last
    goes_on(heartbit, run_id)


def test_a_second_hangup_does_not_hurry_a_run_that_is_being_left(heartbit: Command) -> None:
    task = slow()
    process = heartbit.start("run", task, "--agent", "writer")
    run_id = at_work(task)
    for _ in range(50):  # several of them are taken one by one, before and during the drain
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.send_signal(signal.SIGHUP)
            process.wait(timeout=0.02)
            break
    ended = heartbit.end(process)
    assert ended.code == 128 + signal.SIGHUP
    assert "heartbit resume" in ended.err
    goes_on(heartbit, run_id)


def test_a_terminal_that_is_closed_leaves_the_run_as_well(heartbit: Command) -> None:
    task = slow()
    person, terminal = pty.openpty()
    process = subprocess.Popen(
        [HEARTBIT, "run", task, "--agent", "writer"],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm", "LANG": "C.UTF-8"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(terminal)
    os.set_blocking(person, False)

    def read() -> None:
        with contextlib.suppress(BlockingIOError):  # nothing was drawn since
            os.read(person, 65536)

    run_id = at_work(task, read)
    os.close(person)
    assert process.wait(timeout=60) == 128 + signal.SIGHUP
    goes_on(heartbit, run_id)


def test_a_run_that_was_started_with_nohup_ignores_the_end_of_its_terminal(
    heartbit: Command,
) -> None:
    task = slow()
    process = heartbit.spawn(
        *("run", task, "--agent", "writer"),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    at_work(task)
    process.send_signal(signal.SIGHUP)
    ended = heartbit.end(process)
    assert (ended.code, ended.out) == (0, "Slept.\n")
