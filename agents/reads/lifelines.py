"""Lifelines of the fleet's workers: when each began, how long it lived, and whether it died.

Usage::

    lines = read_lifelines(timedelta(hours=24), timezone.now())
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from agents.choices import Placement
from agents.models import WorkerHeartbeat

MOST = 40


@dataclass(frozen=True, slots=True)
class Lifeline:
    """One process.

    Attributes:
        ended: When it left, or was last heard of; None: it is alive.
        died: True if it did not leave by itself: it is silent, or others found it gone.
    """

    number: int
    name: str
    began: datetime
    ended: datetime | None
    died: bool


def read_lifelines(span: timedelta, now: datetime) -> list[Lifeline]:
    """Return the workers that lived in the last ``span``, the newest first, 40 at most."""
    since = now - span
    there = Q(left_at__isnull=True) | Q(left_at__gte=since)
    rows = WorkerHeartbeat.objects.filter(there, home=Placement.FLEET).order_by("-id")
    return [_lifeline(row, now) for row in rows[:MOST]]


def _lifeline(row: WorkerHeartbeat, now: datetime) -> Lifeline:
    is_silent = row.left_at is None and now - row.beat_at >= timedelta(seconds=row.lease_seconds)
    died = row.lost or is_silent
    return Lifeline(row.pk, row.name, row.started_at, row.beat_at if died else row.left_at, died)
