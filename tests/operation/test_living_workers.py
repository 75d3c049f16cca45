"""A worker lives or not by one rule and one clock: the database's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from django.contrib.admin import site
from django.db.models.functions import Now
from django.utils import timezone

from agents.admin.worker import WorkerHeartbeatAdmin
from agents.choices import Placement
from agents.models import WorkerHeartbeat

if TYPE_CHECKING:
    from django.test import RequestFactory

pytestmark = pytest.mark.django_db


def worker(name: str, *, silent: float, gone: bool = False) -> WorkerHeartbeat:
    row = WorkerHeartbeat.objects.create(
        name=name, home=Placement.FLEET, queues=["living"], lease_seconds=10
    )
    beat = Now() - timedelta(seconds=silent)
    WorkerHeartbeat.objects.filter(pk=row.pk).update(beat_at=beat, left_at=beat if gone else None)
    return row


def test_a_worker_serves_its_queue_within_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    worker("living:1", silent=5)
    worker("living:2", silent=15)
    worker("living:3", silent=1, gone=True)
    # The clock of this host is of no account, however wrong it is.
    monkeypatch.setattr(timezone, "now", lambda: datetime(2001, 1, 1, tzinfo=UTC))
    served = WorkerHeartbeat.objects.serving("living")
    assert [row.name for row in served] == ["living:1"]
    assert not WorkerHeartbeat.objects.serving("living-elsewhere").exists()


def test_the_admin_says_so_too(
    monkeypatch: pytest.MonkeyPatch, admin_user: object, rf: RequestFactory
) -> None:
    for name, silent, gone in (("a", 5, False), ("b", 15, False), ("c", 1, True)):
        worker(f"living:{name}", silent=silent, gone=gone)
    monkeypatch.setattr(timezone, "now", lambda: datetime(2001, 1, 1, tzinfo=UTC))
    page = WorkerHeartbeatAdmin(WorkerHeartbeat, site)
    request = rf.get("/")
    request.user = admin_user  # type: ignore[assignment]
    rows = page.get_queryset(request).filter(name__startswith="living:").order_by("name")
    states = [str(page.state(row)) for row in rows]
    for state, word in zip(states, ("Alive", "Silent", "Gone"), strict=True):
        assert word in state
    assert page.beat(rows[0]).startswith("5")
