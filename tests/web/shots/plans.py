"""What the shop's agents do by the clock, and what became of the last weeks' slots."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from agents.models import Agent, Run
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import FiringStatus, Kind, Overlap, TaskType
from scheduling.models import Firing, Schedule
from scheduling.occurrences import build_recurrence
from scheduling.querysets import database_now

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor
    from heartbit_site.base.models import Workspace

BERLIN = "Europe/Berlin"
REPORT = "Monday sales report"


def plan(workspace: Workspace, *, by: Actor) -> Schedule:
    """Make the schedules; the one whose page is shown."""
    report = _save(
        workspace,
        by,
        agent="planner",
        name=REPORT,
        task="Write the sales report of last week: what sold, what did not, what to order.",
        cron="0 9 * * MON",
        deliver=[{"kind": "email", "to": ["ada@larkfield.example", "shop@larkfield.example"]}],
        jitter_seconds=120,
    )
    _save(
        workspace,
        by,
        agent="stock",
        name="Low stock",
        task="Which bikes are nearly gone? Say it in one line.",
        kind=Kind.INTERVAL,
        every_seconds=4 * 3600,
        overlap=Overlap.QUEUE,
    )
    _save(
        workspace,
        by,
        agent="workshop",
        name="Morning round",
        task="What is due in the workshop today?",
        task_type=TaskType.MESSAGE,
        cron="30 7 * * MON-SAT",
    )
    _save(
        workspace,
        by,
        agent="support",
        name="support: Ring Mrs Ames about the wheel",
        task="Remind Mara to ring Mrs Ames.",
        kind=Kind.ONCE,
        at=database_now() + timedelta(days=3),
    )
    _lived_through(report)
    return report


def _save(workspace: Workspace, by: Actor, *, agent: str, **fields: object) -> Schedule:
    row = Schedule(
        workspace=workspace,
        agent=Agent.objects.get(workspace=workspace, name=agent),
        time_zone=BERLIN,
        **fields,
    )
    save_schedule(row, by=by)
    return row


def _lived_through(schedule: Schedule) -> None:
    """Its last slots: they had runs, but for one while the shop's machine was away."""
    runs = Run.objects.filter(workspace=schedule.workspace, agent="planner").order_by("-created_at")
    known = list(runs.values_list("pk", flat=True)[:5])
    for run, slot in zip(known, build_recurrence(schedule).before(database_now()), strict=False):
        is_away = run == known[2]
        Firing.objects.create(
            schedule=schedule,
            scheduled_for=slot,
            status=FiringStatus.SKIPPED if is_away else FiringStatus.STARTED,
            run_id=None if is_away else run,
            note="It was missed, and is not made up for." if is_away else "",
        )
