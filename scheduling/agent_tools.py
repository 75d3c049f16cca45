"""Tools with which agents plan their own work: reminders and recurring tasks, within limits."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import QuerySet
from pydantic import Field

from agents.choices import DeliveryKind
from agents.errors import MessageLimitReachedError, SubAgentError
from agents.messaging.storage import hops_to, is_delegated
from agents.models import Delivery, Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.base.moments import NoSuchTimeError, TooFarError, localize, to_utc
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from scheduling import recurrence
from scheduling.actions.save_schedule import CREATED, save_schedule
from scheduling.actions.schedules import put, remove_schedule
from scheduling.choices import TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.occurrences import build_recurrence
from scheduling.querysets import database_now
from scheduling.recurrence import format_time, time_zone

MOST_ACTIVE = 20  # per agent
MOST_A_DAY = 50  # per agent
SHORTEST_SECONDS = 300
_LOOKED_AT = 48  # occurrences of a cron expression that are checked for their distance
LONGEST_AHEAD_SECONDS = 366 * 24 * 3600

Task = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4_000,
        description="Your task at that time, with everything you need to know.",
    ),
]
Seconds = Annotated[
    int | None,
    Field(ge=1, le=LONGEST_AHEAD_SECONDS, description="Once, after this number of seconds."),
]
At = Annotated[
    str | None,
    Field(
        max_length=40,
        description="Once, at this time, e.g. 2026-12-01T09:00; without an offset in time_zone.",
    ),
]
Every = Annotated[
    int | None,
    Field(ge=SHORTEST_SECONDS, description="Repeatedly, with this number of seconds between."),
]
Cron = Annotated[
    str | None,
    Field(
        max_length=120,
        description="Repeatedly, by a cron expression: minute hour day month weekday.",
    ),
]
Zone = Annotated[
    str, Field(max_length=60, description="IANA time zone for at and cron, e.g. Europe/Berlin.")
]


#: Tasks of schedules are texts of people and of agents, whatever these had read.
_READ = (Label.PRIVATE, Label.UNTRUSTED)


@tool(effect=Effect.TRANSACTIONAL, tags=("schedule",), labels=(), summary="Plan {name}: {task}")
def schedule(
    context: ToolContext,
    name: Annotated[str, Field(min_length=1, max_length=80, description="A short, new name.")],
    task: Task,
    in_seconds: Seconds = None,
    at: At = None,
    every_seconds: Every = None,
    cron: Cron = None,
    time_zone: Zone = "UTC",
) -> str:
    """Plan a task for yourself: once (in_seconds or at) or again and again (every_seconds or cron).

    Give exactly one of the four. In a conversation the task comes up in that conversation.
    What repeats is planned once: a task that plans the next one each time is stopped at some point.
    """
    if [in_seconds, at, every_seconds, cron].count(None) != 3:
        raise ScheduleError("Give exactly one of in_seconds, at, every_seconds and cron.")
    # Locked until the commit, so that the counts below stay correct.
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=context.workspace_id)
    run = Run.objects.select_related("version__agent", "root__version").get(pk=context.run_id)
    if run.private:
        raise ScheduleError(
            "This conversation is private, and others read schedules: nothing can be planned in it."
        )
    hops = _steps_to(run)
    _refuse_too_many(workspace, run)
    planned = Schedule(
        workspace_id=context.workspace_id,
        agent=run.version.agent,
        name=f"{context.agent}: {name.strip()}",
        task=task,
        time_zone=time_zone,
        created_by_run_id=context.run_id,
        hops=hops + 1,
        # A run that requires approval passes this on to its plans.
        require_approval=run.approve,
    )
    once = _moment(in_seconds, at, time_zone)
    put(planned, {"cron": cron, "every_seconds": every_seconds, "at": once})
    if cron is not None:
        _refuse_too_often(planned)
    _join_conversation(planned, run, context.agent)
    save_schedule(planned, by=_actor(context.agent))
    return f"Planned {planned.name!r}: {build_recurrence(planned).words}. {_next(planned)}"


@tool(effect=Effect.PURE, tags=("schedule",), labels=_READ)
def list_schedules(context: ToolContext) -> list[dict[str, str]]:
    """List what you have planned for yourself and is still to come.

    In a conversation that is what you planned in it.
    """
    return [
        {
            "name": one.name,
            "when": build_recurrence(one).words,
            "task": one.task,
            "next": _next(one),
        }
        for one in _own(context)
    ]


@tool(effect=Effect.TRANSACTIONAL, tags=("schedule",), labels=(), summary="Cancel the plan {name}")
def cancel_schedule(
    context: ToolContext,
    name: Annotated[str, Field(max_length=200, description="Name as list_schedules shows it.")],
) -> str:
    """Cancel something that you have planned for yourself."""
    own = _own(context)
    found = own.filter(name__in=[name, f"{context.agent}: {name}"]).first()
    if found is None:
        names = ", ".join(own.values_list("name", flat=True)) or "nothing"
        raise ScheduleError(f"You have planned no {name!r}; you have planned {names}.")
    remove_schedule(found, by=_actor(context.agent))
    return f"Cancelled {found.name!r}."


def _own(context: ToolContext) -> QuerySet[Schedule]:
    """Return the agent's schedules of the present conversation, hidden from other senders."""
    run = Run.objects.select_related("root").get(pk=context.run_id)
    rows = Schedule.objects.filter(
        workspace=context.workspace_id,
        agent__name=context.agent,
        agent__origin="",
        created_by_run_id__isnull=False,
        next_occurrence__isnull=False,
        conversation_id=run.root.conversation_id,
    )
    return rows.select_related("agent", "workspace").order_by("next_occurrence")


def _join_conversation(planned: Schedule, run: Run, agent: str) -> None:
    """Let the task come up in the run's conversation, if that is one with the agent."""
    conversation = run.root.conversation
    if conversation is not None and conversation.agent == agent:
        planned.task_type, planned.conversation_id = TaskType.MESSAGE, conversation.pk
        planned.deliver = _replies(run)


def _steps_to(run: Run) -> int:
    """Return the length of the chain of messages and schedules that led to the run.

    A schedule must not bypass the limit of the chain.

    Raises:
        SubAgentError: The run was delegated, but its schedule would start a run with a team.
        MessageLimitReachedError: The number is above the limit.
    """
    if is_delegated(run):
        raise SubAgentError(
            "A sub-agent cannot plan tasks: state in your answer what is to be done and when, "
            "and your orchestrator plans it."
        )
    hops, limit = hops_to(run), int(settings.HEARTBIT_MAX_MESSAGE_HOPS)
    if hops > limit:
        raise MessageLimitReachedError(
            f"{hops} messages and plans in a row led to this task, and the limit is {limit}: "
            f"plan nothing more, and state in your answer what is left to do."
        )
    return hops


def _replies(run: Run) -> list[dict[str, Any]]:
    """Return the run's external e-mail recipients, so that planned results reach them too."""
    orders = Delivery.objects.filter(
        run_id=run.root_id, kind=DeliveryKind.EMAIL, target__external=True
    )
    return list(orders.order_by("position").values_list("target", flat=True))


def _refuse_too_many(workspace: Workspace, run: Run) -> None:
    """Raise if the agent has planned too many tasks; the workspace's row is locked."""
    agent = run.version.agent
    own = Schedule.objects.filter(agent=agent, created_by_run_id__isnull=False)
    if own.filter(next_occurrence__isnull=False).count() >= MOST_ACTIVE:
        raise ScheduleError(
            f"You have planned {MOST_ACTIVE} pending tasks, which is the limit: cancel one first."
        )
    if _made_today(workspace, agent.name) >= MOST_A_DAY:
        raise ScheduleError(
            f"You have planned {MOST_A_DAY} tasks within a day, which is the "
            f"limit: plan the next one tomorrow."
        )


def _made_today(workspace: Workspace, agent: str) -> int:
    """Return the number of schedules the agent created within a day, by the audit.

    The audit includes those that were cancelled.
    """
    entries = AuditEntry.objects.filter(chain=workspace.pk)
    day = database_now() - timedelta(days=1)
    # By the chain's own index, from its end: older entries are not read.
    older = entries.filter(at__lte=day).order_by("-number").values_list("number", flat=True)
    today = entries.filter(number__gt=older.first() or 0)
    by = _actor(agent)
    return today.filter(action=CREATED, actor=by.name, via=by.via).count()


def _refuse_too_often(planned: Schedule) -> None:
    """Raise if a cron expression comes due more often than ``every_seconds`` allows."""
    build_recurrence(planned)  # raises if the expression is not valid
    # In UTC, where clock changes cannot shorten the distance.
    slots = recurrence.Cron(planned.cron, ZoneInfo("UTC")).after(database_now())
    for slot, following in itertools.pairwise(itertools.islice(slots, _LOOKED_AT)):
        if (following - slot).total_seconds() < SHORTEST_SECONDS:
            raise ScheduleError(
                f"{planned.cron!r} fires too often: leave at least "
                f"{SHORTEST_SECONDS // 60} minutes between two."
            )


def _moment(in_seconds: int | None, at: str | None, zone: str) -> datetime | None:
    """Return the time of a task that comes up once; None: it comes up again and again."""
    if at is not None:
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            raise ScheduleError(f"{at!r} is not a time: write it like 2026-12-01T09:00.") from None
        try:
            if moment.tzinfo is not None:
                return to_utc(moment)
            return to_utc(localize(moment, time_zone(zone)))
        except (NoSuchTimeError, TooFarError) as error:
            raise ScheduleError(str(error)) from None
    if in_seconds is None:
        return None
    return database_now().replace(microsecond=0) + timedelta(seconds=in_seconds)


def _next(planned: Schedule) -> str:
    if planned.next_occurrence is None:
        return "It does not fire again."
    zone = time_zone(planned.time_zone)
    return f"Next: {format_time(planned.next_occurrence, zone, seconds=planned.has_seconds)}."


def _actor(agent: str) -> Actor:
    return Actor(f"agent {agent}", "system")
