"""Schedules whose slots are known beforehand, and what became of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from agents.actions.publish_agent import publish_agent
from agents.choices import RunStatus
from agents.models import Agent, Run
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import CatchUp, FiringStatus, Kind, Overlap
from scheduling.models import Firing, Schedule
from scheduling.occurrences import slots_between
from scheduling.querysets import database_now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

EVERY_SECONDS = 10  # the shortest interval there is


@dataclass(frozen=True, slots=True)
class Plans:
    """What is to fire.

    Attributes:
        workspace: Of this play alone.
        schedules: All of them end by themselves.
        slots: Each schedule's number and a slot of it.
        ends_at: When the last slot is due.
    """

    workspace: Workspace
    schedules: tuple[Schedule, ...]
    slots: frozenset[tuple[int, datetime]]
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Fired:
    """What became of them.

    Attributes:
        missed: Slots without a run.
        doubled: Runs beyond one for a slot.
        early: Runs that began before their slot.
        latest_seconds: How long after its slot the last run was accepted.
        unfinished: Runs that did not succeed.
    """

    missed: int
    doubled: int
    early: int
    latest_seconds: float
    unfinished: int


def plan(
    queue: str, *, intervals: int, rounds: int, once: int, task: str, lead_seconds: float
) -> Plans:
    """A workspace of its own, whose schedules have ``intervals * rounds + once`` slots.

    Args:
        queue: The agent's, and the workspace's slug.
        intervals: Schedules that fire every ten seconds,
        rounds: so often.
        once: One-off schedules, spread over the same time.
        task: What each run is asked.
        lead_seconds: Until the first slot.
    """
    workspace = Workspace.objects.create(slug=queue, name=queue)
    agent = Agent.objects.create(
        workspace=workspace, name="clerk", system_prompt="Be brief.", model="openai:x", queue=queue
    )
    publish_agent(agent)
    begin = database_now() + timedelta(seconds=lead_seconds)
    span = timedelta(seconds=max(EVERY_SECONDS * (rounds - 1), EVERY_SECONDS - 1))
    made = []
    for number in range(intervals):
        made.append(Schedule(name=f"interval {number}", kind=Kind.INTERVAL, begins_at=begin))
        made[-1].every_seconds, made[-1].ends_at = EVERY_SECONDS, begin + span
    for number in range(once):
        at = begin + span * number / once
        made.append(Schedule(name=f"once {number}", kind=Kind.ONCE, at=at))
    for one in made:
        one.workspace, one.agent, one.task = workspace, agent, task
        one.catch_up, one.overlap = CatchUp.ALL, Overlap.PARALLEL
        save_schedule(one, by=SYSTEM)
    slots = [
        (one.pk, slot)
        for one in made
        for slot in slots_between(one, one.begins_at, begin + span, rounds + 1)
    ]
    return Plans(workspace, tuple(made), frozenset(slots), begin + span)


def all_ended(plans: Plans) -> bool:
    """Whether each slot has a run, and all runs have ended."""
    runs = Run.objects.filter(workspace=plans.workspace)
    return (
        runs.count() >= len(plans.slots)
        and not runs.filter(finished_at__isnull=True).exists()
        and not Schedule.objects.filter(
            workspace=plans.workspace, next_occurrence__isnull=False
        ).exists()
    )


def look(plans: Plans) -> Fired:
    """Compare what is there with what was to be."""
    firings = list(Firing.objects.filter(schedule__in=plans.schedules))
    started = [one for one in firings if one.status == FiringStatus.STARTED]
    found = Counter((one.schedule_id, one.scheduled_for) for one in started)
    runs: dict[UUID, Run] = {run.pk: run for run in Run.objects.filter(workspace=plans.workspace)}
    delays = _delays(started, runs)
    return Fired(
        missed=len(plans.slots - found.keys()),
        doubled=len(runs) - len(plans.slots & found.keys()),
        early=sum(delay < timedelta(0) for delay in delays),
        latest_seconds=round(max(delays, default=timedelta(0)).total_seconds(), 2),
        unfinished=sum(run.status != RunStatus.SUCCEEDED for run in runs.values()),
    )


def _delays(started: Sequence[Firing], runs: dict[UUID, Run]) -> list[timedelta]:
    return [
        runs[one.run_id].created_at - one.scheduled_for for one in started if one.run_id in runs
    ]
