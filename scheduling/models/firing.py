"""Firings: one row per processed occurrence of a schedule."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from scheduling.choices import FiringStatus, Trigger
from scheduling.models.schedule import Schedule


class Firing(models.Model):
    """One occurrence of a schedule; unique in the database, so that none fires twice.

    Attributes:
        scheduled_for: Time of the occurrence without jitter; of a manual firing, its request time.
        run_id: Started run. No foreign key: the log outlives the run.
        note: Reason for a skipped, deferred or failed firing, as a sentence.
        first_deferred_at: Time of the first failed start of a deferred firing.
        retry_at: Time of the next try to start; null: when the previous run has ended.
        run_ended: True if the run is known to have ended; updated by the next check.
    """

    schedule = models.ForeignKey(
        Schedule, on_delete=models.CASCADE, related_name="firings", db_index=False
    )
    scheduled_for = models.DateTimeField()
    cause = models.CharField(max_length=8, choices=Trigger.choices, default=Trigger.SCHEDULE)
    status = models.CharField(max_length=8, choices=FiringStatus.choices)
    run_id = models.UUIDField("run", null=True, blank=True)
    note = models.CharField(max_length=300, blank=True, default="")
    first_deferred_at = models.DateTimeField(null=True, editable=False)
    retry_at = models.DateTimeField(null=True, editable=False)
    run_ended = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-scheduled_for"]
        constraints = [
            models.UniqueConstraint(fields=["schedule", "scheduled_for"], name="firing_once"),
            models.CheckConstraint(
                name="firing_started_has_run",
                condition=~Q(status=FiringStatus.STARTED) | Q(run_id__isnull=False),
            ),
            models.CheckConstraint(
                name="firing_words_known",
                condition=Q(status__in=FiringStatus.values) & Q(cause__in=Trigger.values),
            ),
        ]
        indexes = [
            models.Index(
                fields=["schedule", "scheduled_for"],
                condition=Q(status=FiringStatus.DEFERRED),
                name="firing_held",
            ),
            models.Index(
                fields=["schedule"],
                condition=Q(status=FiringStatus.STARTED, run_ended=False),
                name="firing_at_work",
            ),
            models.Index(fields=["created_at"], name="firing_age"),
            models.Index(fields=["run_id"], condition=Q(run_id__isnull=False), name="firing_run"),
        ]

    def __str__(self) -> str:
        return f"{self.schedule} {self.scheduled_for:%Y-%m-%d %H:%M}"
