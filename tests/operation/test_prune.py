"""Housekeeping deletes the rows of workers a day after they left."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from agents.housekeeping.run_housekeeping import WORKERS_KEPT, prune_workers
from agents.models import WorkerHeartbeat

if TYPE_CHECKING:
    from datetime import datetime

MOMENT = timedelta(minutes=1)


@pytest.mark.django_db
def test_workers_are_forgotten_a_day_after_they_left() -> None:
    now, name = timezone.now(), secrets.token_hex(8)

    def worker(what: str, left_at: datetime | None) -> None:
        WorkerHeartbeat.objects.create(
            name=f"{name}:{what}", home="fleet", queues=[], lease_seconds=60, left_at=left_at
        )

    worker("alive", None)
    worker("left today", now - WORKERS_KEPT + MOMENT)
    worker("left yesterday", now - WORKERS_KEPT - MOMENT)
    assert prune_workers() >= 1
    kept = WorkerHeartbeat.objects.filter(name__startswith=name).order_by("name")
    assert [row.name for row in kept] == [f"{name}:alive", f"{name}:left today"]
