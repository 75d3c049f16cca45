"""Named reads of schedules."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import connection
from django.db.models import Exists, OuterRef, Q, Subquery
from django.db.models.functions import Now

from agents.models import Pause, Run
from agents.models.pause import PauseKind
from scheduling.choices import FiringStatus, Overlap
from scheduling.errors import ScheduleNotFoundError
from scheduling.models import Firing, Schedule

if TYPE_CHECKING:
    from collections.abc import Collection

    from django.db.models import QuerySet

    from heartbit_site.base.models import Workspace


def due_schedules(limit: int, *, only: int | None = None, aside: Collection[int] = ()) -> list[int]:
    """Those whose time has come, and those that can start a slot they held back.

    Slots of a stopped agent, of a stopped workspace and of a stopped installation wait: what
    becomes of them when it goes on is the schedule's policy for missed slots. A paused schedule has
    no slots, and what it holds back waits as well.

    Args:
        limit: So many of each at most: those that have waited longest.
        only: No other schedule than this.
        aside: None of these, unless it is the only one.
    """
    halted = Pause.objects.filter(
        Q(kind=PauseKind.ALL) | Q(kind=PauseKind.WORKSPACE, workspace=OuterRef("workspace"))
    )
    rows = Schedule.objects.filter(~Exists(halted), enabled=True, agent__enabled=True)
    rows = rows.exclude(pk__in=aside) if only is None else rows.filter(pk=only)
    # Two questions, for each has an index of its own; nearly always both answers are empty.
    due = rows.filter(next_at__lte=Now()).order_by("next_at")
    found = [
        *due.values_list("pk", flat=True)[:limit],
        *_able_to_start(rows).values_list("pk", flat=True)[:limit],
    ]
    return list(dict.fromkeys(found))


def _able_to_start(rows: QuerySet[Schedule]) -> QuerySet[Schedule]:
    """Of some schedules those that hold a slot back for which nothing has to end any more.

    Those that wait for a run may do so for weeks: they must not fill the answer, and neither must
    those that are not tried again yet.
    """
    to_try = Q(retry_at=None) | Q(retry_at__lte=Now())
    held = Firing.objects.filter(to_try, status=FiringStatus.DEFERRED)
    earliest = (
        held.filter(schedule=OuterRef("pk")).order_by("scheduled_for").values("scheduled_for")[:1]
    )
    live = Run.objects.filter(pk=OuterRef("run_id"), finished_at__isnull=True)
    at_work = Firing.objects.filter(
        Exists(live), schedule=OuterRef("pk"), status=FiringStatus.STARTED, run_ended=False
    )
    return (
        rows.filter(pk__in=held.values("schedule"))
        .filter(Q(overlap=Overlap.PARALLEL) | ~Exists(at_work))
        .order_by(Subquery(earliest), "pk")
    )


def find_schedule(workspace: Workspace, name: str) -> Schedule:
    """The workspace's schedule of that name, or with that number.

    Raises:
        ScheduleNotFoundError: There is none; the sentence names those there are.
    """
    rows = Schedule.objects.filter(workspace=workspace).select_related("agent", "workspace")
    row = rows.filter(name=name).first()
    if row is None and name.isascii() and name.isdecimal() and len(name) < 19:
        row = rows.filter(pk=int(name)).first()
    if row is None:
        names = list(rows.values_list("name", flat=True)[:20])
        raise ScheduleNotFoundError(
            f"There is no schedule {name[:100]!r} in {workspace.slug}: "
            f"there are {', '.join(names) or 'none yet'}."
        )
    return row


def database_now() -> datetime:
    """The time by which slots are due: the database's, the same for all processes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    if not isinstance(now, datetime):
        raise TypeError("the database's clock gives a time")
    return now
