"""Forked workers are processes as others: exit codes, output, and no life after their tests."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

import pytest

from agents.models import WorkerHeartbeat
from tests.fleet import wait_until
from tests.prepared import HEARTBIT, Prepared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def own() -> Iterator[Prepared]:
    processes = Prepared()
    yield processes
    processes.close()


def test_given_a_command_that_stays_then_its_output_and_exit_code_are_known(
    database: None, own: Prepared, tmp_path: Path
) -> None:
    for environment in (dict(os.environ), {**os.environ, "OTHER": "1"}):
        log = tmp_path / "log"
        with log.open("w") as file:
            one = own.start(HEARTBIT, ("serve", "--queues", "!"), environment, file.fileno())
        assert one.wait(timeout=200) == one.poll() == one.returncode == 2
        assert "--queues" in log.read_text()
        with pytest.raises(ProcessLookupError):
            os.kill(one.pid, 0)


def test_given_a_worker_when_the_forking_process_ends_then_the_worker_does_too(
    database: None, tmp_path: Path
) -> None:
    processes = Prepared()
    with (tmp_path / "log").open("w") as file:
        one = processes.start(
            HEARTBIT, ("serve", "-Q", "nothing"), os.environ.copy(), file.fileno()
        )
    handle = os.pidfd_open(one.pid)
    row = WorkerHeartbeat.objects.filter(name__endswith=f":{one.pid}")
    wait_until(lambda: row.filter(left_at=None).exists(), seconds=40, what="it has registered")
    processes.close()
    assert select.select([handle], [], [], 60)[0], "it was killed"
    os.close(handle)
