"""A slot that a tool decides, with workers that are killed before and after the decision."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from agents.choices import RunStatus
from agents.models import Agent, Run
from scheduling.models import Firing, Schedule
from tests.fleet import Worker, wait_until
from tests.scheduling.conftest import let_pass

if TYPE_CHECKING:
    from tests.fleet import WireServer

Plan = Callable[..., Schedule]
pytestmark = [pytest.mark.chaos, pytest.mark.usefixtures("database", "wire_server")]


@pytest.fixture
def queue() -> str:
    """A queue that no other worker serves."""
    return f"slot-{secrets.token_hex(3)}"


def test_given_workers_killed_around_the_slot_s_test_then_it_has_one_test_and_one_run(
    planned: Plan, agent: Callable[..., Agent], queue: str, wire_server: WireServer
) -> None:
    reader = agent("reader", tools=("current_time",), queue=queue, model="openai:fake")
    plan = planned(
        agent=reader, name="Tested", task="[[text: Read.]]", test={"tool": "current_time"}
    )
    let_pass(plan, timedelta(hours=1))
    firings = Firing.objects.filter(schedule=plan)
    with Worker(queues="system") as clock:
        wait_until(
            firings.filter(status="deferred", test_run_id__isnull=False).exists,
            what="the clock has fired the slot, and its test is queued",
        )
        clock.kill()
    assert Run.objects.filter(workspace=plan.workspace).count() == 1, "the test's"
    tests = Run.objects.filter(pk__in=firings.values("test_run_id"))
    with Worker(queues=f"{queue},system") as tester:
        wait_until(tests.filter(finished_at__isnull=False).exists, what="the test has ended")
        tester.kill()  # before the clock decides, or just after
    with Worker(queues=f"{queue},system"):
        decided = firings.filter(status="started", run_id__isnull=False)
        wait_until(decided.exists, seconds=40, what="the slot is decided")
        runs = Run.objects.filter(pk__in=firings.values("run_id"))
        wait_until(runs.filter(finished_at__isnull=False).exists, what="its run has ended")
    run, firing = runs.get(), firings.get()
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Read.")
    assert firing.run_id == run.pk
    assert tests.get().kind == "tool_call"
    assert Run.objects.filter(workspace=plan.workspace).count() == 2, "one test, and one run"
