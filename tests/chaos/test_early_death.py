"""R8 counts as hit who beat no more after its claim, however slow the machine is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agents.choices import Placement
from agents.models import WorkerHeartbeat
from scheduling.querysets import database_now
from tests.chaos.early_death import beat_no_more
from tests.chaos.records import Event, Kill, Records, Run


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("beat", "is_hit"), [(0.0, True), (0.9, True), (1.1, False)], ids=["never", "before", "after"]
)
def test_given_a_claim_a_second_after_a_workers_start_then_a_beat_after_it_is_no_hit(
    beat: float, *, is_hit: bool
) -> None:
    began = database_now()
    WorkerHeartbeat.objects.create(
        name="early:1",
        home=Placement.FLEET,
        queues=[],
        slots=1,
        lease_seconds=5,
        started_at=began,
        beat_at=began + timedelta(seconds=beat),
    )
    claimed = Event(2, "run.started", began.timestamp() + 1, {"worker": "early:1"})
    run = Run("run", "r", "succeeded", (claimed,), ())
    kill = Kill(began.timestamp() + 1.2, "early:1", ("run",))
    left = Records(runs=(run,), asked=(), effects=(), kills=(kill,))
    assert beat_no_more(left, kill) is is_hit
