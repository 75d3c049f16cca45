"""Heartbeats of processes that execute runs; a live process holds its advisory lock."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models import BooleanField, DateTimeField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Now

from agents.choices import Placement
from heartbit_site.base.models.constraints import index

_LEASE = ExpressionWrapper(F("lease_seconds") * Value(timedelta(seconds=1)), models.DurationField())
#: Measured by the database's clock, since clocks of hosts differ.
ALIVE = Q(left_at__isnull=True, beat_at__gt=ExpressionWrapper(Now() - _LEASE, DateTimeField()))


class WorkerQuerySet(models.QuerySet["WorkerHeartbeat"]):
    """Queries on workers by their heartbeats."""

    def alive(self) -> WorkerQuerySet:
        """Return workers that have not left and whose last heartbeat is within their lease."""
        return self.filter(ALIVE)

    def serving(self, queue: str = "") -> WorkerQuerySet:
        """Return the fleet's live workers, or those of one queue."""
        found = self.alive().filter(home=Placement.FLEET)
        return found.filter(queues__contains=[queue]) if queue else found

    def with_state(self) -> WorkerQuerySet:
        """Annotate ``is_alive`` and ``silence``, the time since the last heartbeat."""
        return self.annotate(
            is_alive=ExpressionWrapper(ALIVE, BooleanField()),
            silence=ExpressionWrapper(Now() - F("beat_at"), models.DurationField()),
        )


class WorkerHeartbeat(models.Model):
    """One process; the row's id is the key of the session advisory lock that it holds."""

    name = models.CharField(max_length=200, help_text="host:pid")
    home = models.CharField(max_length=8, choices=Placement.choices, default=Placement.FLEET)
    queues = models.JSONField(default=list)
    slots = models.PositiveIntegerField(default=0, help_text="Maximum number of concurrent runs.")
    lease_seconds = models.FloatField(
        help_text="Seconds without a heartbeat after which the lease expires."
    )
    started_at = models.DateTimeField(db_default=Now())
    beat_at = models.DateTimeField(db_default=Now())
    requested_action = models.CharField(
        max_length=8,
        blank=True,
        default="",
        db_default="",
        choices=[("stop", "Stop"), ("restart", "Restart")],
        help_text="Action requested by an operator; the worker is notified at once.",
    )
    sandbox = models.CharField(
        max_length=32,
        blank=True,
        default="",
        db_default="",
        help_text="Sandbox in force, for code of models. Empty: none, so code is refused there.",
    )
    sandbox_problem = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text="Reason why no sandbox holds there; probed about once a minute.",
    )
    left_at = models.DateTimeField(
        null=True, blank=True, help_text="Time of departure, or of the detected loss of the worker."
    )

    lost = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Death or cut connection, which others noticed.",
    )

    objects = WorkerQuerySet.as_manager()

    class Meta:
        ordering = ["-started_at"]
        indexes = [index("worker_alive", "beat_at", where=models.Q(left_at__isnull=True))]

    def __str__(self) -> str:
        return self.name
