"""Named queries of schedules and firings."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Now, NullIf

from agents.choices import DeliveryStatus
from agents.models import Delivery, Pause, Run
from agents.models.pause import PauseKind
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_one
from scheduling.choices import FiringStatus, Overlap
from scheduling.errors import ScheduleNotFoundError
from scheduling.models import Firing, Schedule


def due_schedules(limit: int, *, only: int | None = None, aside: Collection[int] = ()) -> list[int]:
    """Return the schedules that are due, and those that can start a deferred firing.

    Occurrences of a stopped agent, workspace or installation wait; after the stop the catch-up
    policy decides about them. A paused schedule has no occurrences, and its deferred firings wait
    as well.

    Args:
        limit: Maximum number of schedules of each sort; the longest waiting first.
        only: Id of the one schedule to check.
        aside: Ids to exclude, unless ``only`` is given.
    """
    halted = Pause.objects.filter(
        Q(kind=PauseKind.ALL) | Q(kind=PauseKind.WORKSPACE, workspace=OuterRef("workspace"))
    )
    rows = Schedule.objects.filter(~Exists(halted), enabled=True, agent__enabled=True)
    rows = rows.exclude(pk__in=aside) if only is None else rows.filter(pk=only)
    # Two queries, because each has an index of its own; nearly always both are empty.
    due = rows.filter(next_at__lte=Now()).order_by("next_at")
    found = [
        *due.values_list("pk", flat=True)[:limit],
        *_able_to_start(rows).values_list("pk", flat=True)[:limit],
    ]
    return list(dict.fromkeys(found))


def _able_to_start(rows: QuerySet[Schedule]) -> QuerySet[Schedule]:
    """Return the schedules with a deferred firing that no running run blocks.

    Schedules that wait for a run or a test may wait for weeks, and others wait for a retry: none of
    them may use up the limit.
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
    tested = Firing.objects.filter(
        has_running_test(), schedule=OuterRef("pk"), status=FiringStatus.DEFERRED
    )
    return (
        rows.filter(~Exists(tested), pk__in=held.values("schedule"))
        .filter(Q(overlap=Overlap.PARALLEL) | ~Exists(at_work))
        .order_by(Subquery(earliest), "pk")
    )


def has_running_test() -> Exists:
    """Return the condition that the run of a firing's test has not ended."""
    return Exists(Run.objects.filter(pk=OuterRef("test_run_id"), finished_at__isnull=True))


def find_schedule(workspace: Workspace, name: str) -> Schedule:
    """Return the workspace's schedule with that name or number.

    Raises:
        ScheduleNotFoundError: No such schedule exists; the message lists those that do.
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
    """Return the database's time, by which occurrences are due for all processes."""
    now: datetime = fetch_one("SELECT clock_timestamp()")[0]
    return now


#: Order of a run's delivery statuses, the most important first.
_GRAVITY = Case(
    When(status=DeliveryStatus.FAILED, then=Value(0)),
    When(status=DeliveryStatus.PENDING, then=Value(1)),
    default=Value(2),
)


def with_outcomes(firings: QuerySet[Firing]) -> QuerySet[Any]:
    """Annotate firings with ``run_status``, ``delivery_status`` and ``reason``, in the same query.

    ``run_status`` is null without a run, or when the run is archived. ``delivery_status`` is failed
    if any delivery failed, else pending if any is, else delivered; null when the run delivers
    nothing. ``reason`` is the firing's note, or else the error of its run.
    """
    runs = Run.objects.filter(pk=OuterRef("run_id"))
    error = runs.values(message=KeyTextTransform("message", "error"))
    deliveries = Delivery.objects.filter(run_id=OuterRef("run_id")).order_by(_GRAVITY, "id")
    return firings.annotate(
        run_status=Subquery(runs.values("status")[:1]),
        delivery_status=Subquery(deliveries.values("status")[:1]),
        reason=Coalesce(
            NullIf("note", Value("")),
            Subquery(error[:1]),
            Value(""),
            output_field=TextField(),
        ),
    )
