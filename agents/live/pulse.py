"""Counts that a workspace's pages update live: waiting calls and live runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Count, Q

from agents.choices import LIVE
from agents.models import Run
from agents.querysets import waits_for_people
from heartbit_site.base.models import Workspace


@dataclass(frozen=True, slots=True)
class Pulse:
    """Counts of one workspace, or of all.

    Attributes:
        newest_waiting: Id of the newest wait for a person, or 0.
        live: Number of runs that have not ended, without sub-agents.
        newest_run: Id of the newest run that is not private, or None.
        statuses: Number of runs that have not ended by status, sub-agents included.
    """

    waiting: int
    newest_waiting: int
    live: int
    newest_run: str | None
    statuses: Mapping[str, int] = field(default_factory=dict)


def read_pulse(workspace: Workspace | None) -> Pulse:
    """Return the counts of a workspace, or of all workspaces for None."""
    waiting = list(waits_for_people(workspace).order_by().values_list("pk", flat=True))
    runs = Run.objects.all() if workspace is None else Run.objects.filter(workspace=workspace)
    live = runs.filter(status__in=LIVE).order_by().values("status")
    counted = live.annotate(
        all=Count("pk"), roots=Count("pk", filter=Q(parent__isnull=True))
    ).values_list("status", "all", "roots")
    by_status = {status: (every, roots) for status, every, roots in counted}
    # Ids are ordered by time; within a workspace, the index is on the time.
    newest = runs.filter(private_to=None).order_by("-pk" if workspace is None else "-created_at")
    newest_id = newest.values_list("pk", flat=True).first()
    return Pulse(
        waiting=len(waiting),
        newest_waiting=max(waiting, default=0),
        live=sum(roots for _, roots in by_status.values()),
        newest_run=str(newest_id) if newest_id else None,
        statuses={status: every for status, (every, _) in by_status.items()},
    )
