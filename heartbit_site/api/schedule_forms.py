"""Schedules as the JSON of responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import OuterRef, Subquery

from heartbit_site.api.forms import beginning, time
from heartbit_site.operations.beginnings import with_beginning
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from scheduling.outcomes import with_outcomes
from scheduling.querysets import database_now
from scheduling.rhythm import rhythm_of, spoken, time_zone
from scheduling.slots import next_slots

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django.db.models import QuerySet

SHOWN = 5  # slots to come


def schedule(row: Schedule) -> dict[str, Any]:
    """Serialize one schedule, with the whole of what its agent is asked."""
    [facts] = _facts([row])
    return {
        **facts,
        "task": row.task,
        "task_characters": len(row.task),
        "arguments": row.arguments,
        "deliver": row.deliver,
    }


def summaries(rows: QuerySet[Schedule]) -> QuerySet[Any]:
    """Leave what a list does not show in the database, as ``schedule_summaries`` reads the rest."""
    return with_beginning(rows, "task").defer("arguments", "deliver").select_related("agent")


def schedule_summaries(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Serialize the schedules of a list; they come from ``summaries``."""
    return [
        {**facts, **beginning(row, "task", "task")}
        for row, facts in zip(rows, _facts(rows), strict=True)
    ]


def _facts(rows: Sequence[Schedule]) -> list[dict[str, Any]]:
    """Serialize all but long values of schedules with their agents loaded."""
    latest = _latest(rows)
    last = dict(zip((one.schedule_id for one in latest), firings(latest), strict=True))
    now = database_now()
    return [{**_columns(row), **_due(row, now), "last": last.get(row.pk)} for row in rows]


def firings(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Serialize firings that come from ``with_outcomes``."""
    return [
        {
            "slot": time(row.slot),
            "cause": str(row.cause),
            "status": str(row.status),
            "note": row.note,
            "run": str(row.run_id) if row.run_id is not None else None,
            "run_status": row.run_status,
            "delivery_status": row.delivery_status,
            "created_at": time(row.created_at),
        }
        for row in rows
    ]


def rhythm(row: Schedule, now: datetime) -> dict[str, Any]:
    """When it comes due, in words, and next.

    Args:
        row: Saved or not.
        now: From when on.

    Raises:
        ScheduleError: Its rhythm is none.
    """
    zone = time_zone(row.time_zone)
    slots = next_slots(row, now, SHOWN) if row.enabled else []
    return {
        "words": rhythm_of(row).words,
        "next": [{"at": time(slot), "words": spoken(slot, zone)} for slot in slots],
    }


def _latest(rows: Sequence[Schedule]) -> list[Firing]:
    """Of each that has one the latest firing."""
    newest = Firing.objects.filter(schedule=OuterRef("pk")).order_by("-slot").values("pk")[:1]
    ids = Schedule.objects.filter(pk__in=[row.pk for row in rows]).values(latest=Subquery(newest))
    return list(with_outcomes(Firing.objects.filter(pk__in=ids)))


def _due(row: Schedule, now: datetime) -> dict[str, Any]:
    try:
        return rhythm(row, now)
    except ScheduleError as error:  # a time zone that this machine does not know, for one
        return {"words": str(error), "next": []}


def _columns(row: Schedule) -> dict[str, Any]:
    return {
        "schedule": row.pk,
        "name": row.name,
        "agent": row.agent.name,
        "agent_enabled": row.agent.enabled,
        "task_type": str(row.task_type),
        "tool": row.tool,
        "kind": str(row.kind),
        "cron": row.cron or None,
        "every_seconds": row.every_seconds,
        "at": time(row.at),
        "time_zone": row.time_zone,
        "begins_at": time(row.begins_at),
        "ends_at": time(row.ends_at),
        "missed": str(row.missed),
        "overlap": str(row.overlap),
        "jitter_seconds": row.jitter_seconds,
        "approve": row.approve,
        "enabled": row.enabled,
        "conversation": str(row.conversation_id) if row.conversation_id else None,
        "next_at": time(row.next_at),
        "made_by": row.made_by,
        "made_in_run": str(row.made_in_run) if row.made_in_run else None,
        "created_at": time(row.created_at),
        "updated_at": time(row.updated_at),
    }
