"""A run that holds up the loop of its worker: the worker ends, and the run ends in quarantine."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.db import connection

from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.choices import RunStatus
from agents.models import Agent, Run, RunEvent, ToolBinding
from agents.runtime.recovery.loop_watchdog import LoopWatchdog
from tests.fleet import Worker, frozen, wait_until
from tests.runtime import stuck
from tests.runtime.stuck import agent_tools
from tests.sizes import sized
from tests.starts import start_run
from tools.definitions.registry import marked, registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

SECONDS = 1.0
INNOCENT = "[[latency: 600000]] [[text: Done.]]"


@pytest.fixture
def queue(workspace: Workspace, wire_server: WireServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """A queue of its own, with an agent that has the tools."""
    for spec in marked(vars(agent_tools).values()):
        monkeypatch.setitem(registry, spec.name, spec)
    name = f"stuck-{secrets.token_hex(4)}"
    agent = Agent.objects.create(
        workspace=workspace, name="stuck", system_prompt="You hold up.", queue=name
    )
    for tool in ("compute_for_ever", "block_for_ever", "keep_the_lock", "calculate"):
        ToolBinding.objects.create(agent=agent, tool=tool)
    publish_agent(agent)
    return name


def worker(queue: str) -> Worker:
    environment = {
        "HEARTBIT_EXTRA_APPS": stuck.__name__,
        "HEARTBIT_LOOP_SILENCE_SECONDS": str(SECONDS),
        "HEARTBIT_MAX_CRASHES": "1",
    }
    return Worker(queues=queue, environment=environment)


def started(workspace: Workspace, task: str) -> UUID:
    return start_run(workspace, task, agent="stuck", model="openai:fake")


def status(run_id: UUID) -> str:
    return Run.objects.get(pk=run_id).status


def suspect(run_id: UUID) -> None:
    """Let the next crash be the last, also for the sweeper of another test's worker.

    The answer of its model, which is progress, has to be there.
    """
    answered = RunEvent.objects.filter(run=run_id, type="model.answered")
    wait_until(answered.exists, what="the call")
    Run.objects.filter(pk=run_id).update(crashes=settings.HEARTBIT_MAX_CRASHES - 1)


def has_ended(one: Worker) -> bool:
    return one._process.poll() is not None


def test_the_run_on_the_loop_is_to_blame_and_its_neighbour_is_not(
    queue: str, workspace: Workspace, record_property: Callable[[str, object], None]
) -> None:
    innocent = started(workspace, INNOCENT)
    with worker(queue) as first:
        wait_until(lambda: RunEvent.objects.filter(run=innocent, type="run.started").exists())
        with frozen(first):
            time.sleep(2 * SECONDS)  # a process that was stopped is not silent
        harmless = started(workspace, "[[text: Done.]]")
        wait_until(lambda: status(harmless) == RunStatus.SUCCEEDED)
        culprit = started(workspace, "[[calls: compute_for_ever {}]] [[text: never]]")
        suspect(culprit)
        began = time.monotonic()
        wait_until(lambda: has_ended(first), what="end of the worker")
        record_property("most:seconds_until_the_worker_ended", round(time.monotonic() - began, 2))
        line, _, stack = first.log.read_text().partition(": this worker ends itself.")
        assert line.endswith(f"silent for {SECONDS:g} s, held up by run {culprit}")
        assert "in _compute" in stack
    assert status(innocent) == RunStatus.QUEUED, "it was released before"
    with worker(queue) as second:
        wait_until(lambda: status(culprit) == RunStatus.QUARANTINED, seconds=120)  # leases run out
        wait_until(lambda: status(innocent) == RunStatus.RUNNING)
        assert not has_ended(second)
        assert Run.objects.get(pk=innocent).crashes == 0
        cancel_run(workspace, innocent, reason="It is over.")


def test_code_that_keeps_the_interpreter_s_lock_ends_its_worker_too(
    queue: str, workspace: Workspace
) -> None:
    culprit = started(workspace, "[[calls: keep_the_lock {}]] [[text: never]]")
    with worker(queue) as only:
        suspect(culprit)
        wait_until(lambda: has_ended(only), what="end of the worker")
        assert "in keep_the_lock" in only.log.read_text()
    wait_until(lambda: recovered(culprit) == RunStatus.QUARANTINED)


@pytest.mark.skipif(
    sized(1, full=0) == 1, reason="three processes of its own: `make security` has it"
)
def test_a_suspect_that_does_it_alone_is_quarantined_and_its_worker_stays(
    queue: str, workspace: Workspace
) -> None:
    culprit = started(workspace, "[[calls: block_for_ever {}]] [[text: never]]")
    Run.objects.filter(pk=culprit).update(crashes=4)
    with worker(queue) as only:
        wait_until(lambda: status(culprit) == RunStatus.QUARANTINED, seconds=40)
        assert not has_ended(only)
        assert f"held up by run {culprit}" in only.log.read_text()


def recovered(run_id: UUID) -> str:
    """A run's status, once a sweeper has seen to its worker, which is dead."""
    run = Run.objects.get(pk=run_id)
    if run.worker_id is not None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM heartbit_recover(%s, 1)", [run.worker_id])
    return status(run_id)


class Noting(LoopWatchdog):
    """Notes the end in place of ending the tests."""

    has_ended = False

    def _end(self) -> None:
        self.has_ended = True
        self._over.set()


@pytest.mark.parametrize(("waits", "ends"), [(False, True), (True, False)])
async def test_a_thread_that_waits_for_a_processor_is_not_silent(
    tmp_path: Path, *, waits: bool, ends: bool
) -> None:
    watchdog = Noting(0.2, lambda _: None)
    watchdog.start()
    watchdog._schedule = schedule = tmp_path / "schedstat"
    until = time.monotonic() + 0.6
    while time.monotonic() < until:
        waited = time.monotonic_ns() if waits else 0
        (tmp_path / "next").write_text(f"0 {waited} 0")
        (tmp_path / "next").rename(schedule)
        time.sleep(0.001)
    await asyncio.sleep(0)
    await watchdog.stop()
    assert watchdog.has_ended is ends


async def test_without_a_limit_nothing_is_watched() -> None:
    watchdog = Noting(0, lambda _: None)
    watchdog.start()
    time.sleep(0.1)
    await watchdog.stop()
    assert not watchdog.has_ended
