"""What became of a slot."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from scheduling.choices import FiringStatus, Trigger
from scheduling.models.schedule import Schedule


class Firing(models.Model):
    """One slot of a schedule; the database lets each have one row, so nothing fires twice.

    Attributes:
        slot: When it was due, without jitter; of a manual one, when somebody asked for it.
        run_id: Its run. No foreign key: the log outlives the run.
        note: Why it was skipped, held back or failed, as one sentence.
        first_deferred_at: Of one that is held because its run could not start: since when.
        retry_at: When that is tried again; null: as soon as the run before it has ended.
        over: The run is known to have ended; set when somebody next asks.
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
        ]

    def __str__(self) -> str:
        return f"{self.schedule} {self.scheduled_for:%Y-%m-%d %H:%M}"
