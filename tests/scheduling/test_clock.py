"""A worker's clock fires what is due, without Beat; a tool call needs no model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from agents.choices import RunStatus
from agents.models import Agent, Run
from scheduling.choices import Kind, TaskType
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now
from tests.fleet import WireServer, wait_until
from tests.pace import in_time

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

Plan = Callable[..., Schedule]
SOON = timedelta(seconds=3)  # saving a schedule may take a second on a busy machine


def ended(schedule: Schedule) -> Run:
    """The run of its only slot, when it has ended."""

    def look() -> Run | None:
        fired = Firing.objects.filter(schedule=schedule).values("run_id")
        return Run.objects.filter(pk__in=fired, finished_at__isnull=False).first()

    found: Run = wait_until(look, what=f"{schedule} has fired")
    return found


@pytest.mark.usefixtures("worker")
@pytest.mark.paced
def test_a_reminder_fires_at_its_time(planned: Plan) -> None:
    plan = planned(
        kind=Kind.ONCE,
        at=database_now() + SOON,
        task="[[text: Call Ann.]]",
        task_type=TaskType.MESSAGE,
    )
    run = ended(plan)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Call Ann.")
    assert Firing.objects.filter(schedule=plan).count() == 1
    in_time((run.created_at - plan.at).total_seconds(), 5)  # type: ignore[operator]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ({"expression": "6 * 7"}, RunStatus.SUCCEEDED, "42"),
        ({"expression": "six"}, RunStatus.FAILED, "The tool calculate failed"),
    ],
)
def test_a_tool_call_asks_no_model(
    workspace: Workspace,
    planned: Plan,
    agent: Callable[..., Agent],
    wire_server: WireServer,
    arguments: dict[str, str],
    status: RunStatus,
    text: str,
) -> None:
    asked = wire_server.stats()
    plan = planned(
        agent=agent("clerk", tools=("calculate",), response_schema={"type": "object"}),
        kind=Kind.ONCE,
        at=database_now() + SOON,
        task_type=TaskType.TOOL_CALL,
        tool="calculate",
        arguments=arguments,
        task="",
    )
    run = ended(plan)
    assert run.status == status
    assert text in (run.output or str(run.error))
    assert (run.input_tokens, run.output_tokens) == (0, 0)
    # Runs of other tests may still ask; a run that asks for the first time is a new one there.
    assert wire_server.stats()["runs"].keys() == asked["runs"].keys()
