"""Return how many runs of the mix end in a second while there is always work."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from agents.choices import RunStatus
from agents.models import Run

if TYPE_CHECKING:
    from tests.chaos.rig import Rig
    from tests.chaos.soak.mix import Mix

AT_ONCE = 32
SECONDS = 20.0
WARM_SECONDS = 5.0


def measured_rate(mix: Mix, on: Rig) -> float:
    """Root runs a second that end while ``AT_ONCE`` runs are always on a worker or may be claimed.

    Runs that wait for people or for other runs do not count as such.
    """
    until = time.monotonic() + WARM_SECONDS + SECONDS
    runs = Run.objects.filter(workspace=on.workspace)
    active = [RunStatus.QUEUED, RunStatus.RUNNING]
    while time.monotonic() < until:
        on.supervisor.tend()
        mix.look()
        busy = runs.filter(status__in=active, available_at__lte=timezone.now()).count()
        for _ in range(AT_ONCE - busy):
            mix.start()
        time.sleep(0.02)
    since = timezone.now() - timedelta(seconds=SECONDS)
    return runs.filter(parent=None, finished_at__gte=since).count() / SECONDS
