"""Two weeks in which the shop's agents have worked: runs of now, moved into the past.

Nothing in Heartbit changes when something was. Here rows are changed by hand once their runs have
ended, so that Health has days to draw.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import cycle
from typing import TYPE_CHECKING

from django.db.models import F
from django.utils import timezone

from agents.models import Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import UsageEntry
from tests.fleet import wait_until
from tests.starts import start_run
from tests.web.shots import parts

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from heartbit_site.base.models import Workspace

#: Runs of each day, from 13 days ago to yesterday.
PER_DAY = (3, 5, 4, 6, 2, 1, 5, 4, 7, 5, 3, 2, 6)
#: What they were asked, again and again; the last one fails.
TASKS = (
    ("analyst", parts.STOCK),
    ("support", parts.BENT_WHEEL),
    ("analyst", parts.WEEKLY),
    ("planner", parts.ISLANDS),
    ("analyst", parts.STOCK),
    ("analyst", parts.WEEKLY),
    ("writer", parts.LOG),
)
OPENS, HOURS = 8, 10  # the shop's day


def live_through(workspace: Workspace, *, model: str) -> None:
    """Let the agents work for two weeks; a worker has to be there."""
    by = Actor("mara", "web")
    asked = cycle(TASKS)
    days = [
        [start_run(workspace, task, agent=agent, model=model, by=by) for agent, task in some]
        for some in ([next(asked) for _ in range(count)] for count in PER_DAY)
    ]
    live = Run.objects.filter(workspace=workspace, finished_at__isnull=True)
    wait_until(lambda: not live.exists(), seconds=150, what="two weeks of work")
    today = timezone.localtime().replace(hour=OPENS, minute=0, second=0, microsecond=0)
    for ago, runs in zip(range(len(days), 0, -1), days, strict=True):
        for number, run in enumerate(runs):
            hours = timedelta(hours=HOURS * number / len(runs))
            _move(run, today - timedelta(days=ago) + hours)


def _move(root: UUID, to: datetime) -> None:
    """Let a run and its sub-agents have begun then; each took as long as it did."""
    rows = Run.objects.filter(root_id=root)
    back = rows.get(pk=root).created_at - to
    rows.update(
        created_at=F("created_at") - back,
        started_at=F("started_at") - back,
        finished_at=F("finished_at") - back,
    )
    # The ledger's rows cannot be changed, so they are written anew.
    entries = UsageEntry.objects.filter(run_id__in=list(rows.values_list("pk", flat=True)))
    moved = list(entries)
    entries.delete()
    for entry in moved:
        entry.pk, entry.at = None, entry.at - back
    UsageEntry.objects.bulk_create(moved)
