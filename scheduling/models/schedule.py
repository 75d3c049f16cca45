"""Schedules of agents, and their firings: one row per processed occurrence."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django_celery_beat.models import PeriodicTask

from agents.definitions.columns import column
from agents.models import Agent
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, unique
from scheduling.choices import CatchUp, FiringStatus, Kind, Overlap, TaskType, Trigger
from scheduling.spec import ScheduleSpec


def _setting(name: str) -> dict[str, Any]:
    """Return default, bounds and help of a column; the database itself has no defaults here."""
    options = column(ScheduleSpec, name)
    options.pop("db_default", None)
    return options


class Schedule(models.Model):
    """A recurring or one-off task of an agent; written through ``actions.save_schedule``.

    Attributes:
        begins_at: Start of the recurrence; intervals are counted from it.
        ends_at: End of the recurrence; null: none.
        conversation_id: Conversation of a schedule of messages, created by the first firing. No
            foreign key: it may be archived, and the next firing creates another one.
        deliver: Targets of results (``agents.delivery.targets``).
        braked_run_id: Run whose cost has paused the schedule last; it does so once.
        next_occurrence: Earliest unprocessed occurrence; null: there is none.
        next_at: Time of the next firing: the occurrence and its jitter, by the database's clock.
        last_occurrence: Latest processed occurrence.
        created_by: Display name of the creator.
        created_by_run_id: Run whose agent created the schedule; null: created by a person.
        hops: ``Run.hops`` of the started runs: one more than that of the creating run.
        periodic_task: Mirror in Celery Beat, which only triggers a check.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="schedules")
    name = models.CharField(max_length=100, **_setting("name"))
    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="schedules", **_setting("agent")
    )
    task_type = models.CharField(max_length=16, choices=TaskType.choices, **_setting("task_type"))
    task = models.TextField(**_setting("task"))
    tool = models.CharField(max_length=64, **_setting("tool"))
    arguments = models.JSONField(default=dict, **_setting("arguments"))
    input = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        **_setting("input") | {"help_text": "Input of a workflow: a JSON object."},
    )
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.CRON)
    cron = models.CharField(
        "cron expression", max_length=120, blank=True, default="", **_setting("cron")
    )
    time_zone = models.CharField(max_length=60, **_setting("time_zone"))
    every_seconds = models.PositiveIntegerField(null=True, blank=True, **_setting("every_seconds"))
    at = models.DateTimeField(null=True, blank=True, **_setting("at"))
    begins_at = models.DateTimeField(blank=True, **_setting("begins_at"))
    ends_at = models.DateTimeField(null=True, blank=True, **_setting("ends_at"))
    catch_up = models.CharField(
        "catch-up",
        max_length=8,
        choices=CatchUp.choices,
        **_setting("catch_up")
        | {"help_text": ("Handling of firings missed without a worker or in a halted workspace.")},
    )
    overlap = models.CharField(max_length=8, choices=Overlap.choices, **_setting("overlap"))
    jitter_seconds = models.PositiveIntegerField(**_setting("jitter_seconds"))
    require_approval = models.BooleanField(**_setting("require_approval"))
    review = models.CharField(max_length=160, db_default="", **_setting("review"))
    cost_brake = models.PositiveSmallIntegerField(null=True, blank=True, **_setting("cost_brake"))
    braked_run_id = models.UUIDField(null=True, editable=False)
    test = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), **_setting("test")
    )
    deliver = models.JSONField(default=list, blank=True)
    enabled = models.BooleanField(**_setting("enabled"))
    conversation_id = models.UUIDField("conversation", null=True, editable=False)
    next_occurrence = models.DateTimeField(null=True, editable=False)
    next_at = models.DateTimeField(null=True, editable=False)
    last_occurrence = models.DateTimeField(null=True, editable=False)
    created_by = models.CharField(max_length=200, blank=True, default="", editable=False)
    created_by_run_id = models.UUIDField(null=True, editable=False)
    hops = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    periodic_task = models.OneToOneField(
        PeriodicTask,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name"],
                name="schedule_name",
                violation_error_message="The workspace has a schedule of that name.",
            ),
            models.CheckConstraint(
                name="schedule_has_its_rhythm",
                condition=(Q(kind=Kind.CRON) & ~Q(cron=""))
                | Q(kind=Kind.INTERVAL, every_seconds__gt=0)
                | Q(kind=Kind.ONCE, at__isnull=False),
                violation_error_message=(
                    "Give a cron expression, an interval in seconds, or a time, as the kind asks."
                ),
            ),
            models.CheckConstraint(
                name="schedule_slot_with_time",
                condition=Q(next_occurrence__isnull=True, next_at__isnull=True)
                | Q(next_occurrence__isnull=False, next_at__isnull=False),
            ),
            models.CheckConstraint(
                name="schedule_words_known",
                condition=Q(task_type__in=TaskType.values)
                & Q(catch_up__in=CatchUp.values)
                & Q(overlap__in=Overlap.values),
            ),
        ]
        indexes = [
            index("schedule_due", "next_at", where=Q(enabled=True, next_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def has_seconds(self) -> bool:
        """True if its occurrences are not whole minutes apart."""
        return self.kind == Kind.INTERVAL and bool((self.every_seconds or 0) % 60)


class Firing(models.Model):
    """One occurrence of a schedule; unique in the database, so that none fires twice.

    Attributes:
        scheduled_for: Time of the occurrence without jitter; of a manual firing, its request time.
        run_id: Started run. No foreign key: the log outlives the run.
        test_run_id: Run of the schedule's test, which decides a firing; null: none was started.
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
    test_run_id = models.UUIDField("test's run", null=True, editable=False)
    note = models.CharField(max_length=300, blank=True, default="")
    first_deferred_at = models.DateTimeField(null=True, editable=False)
    retry_at = models.DateTimeField(null=True, editable=False)
    run_ended = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-scheduled_for"]
        constraints = [
            unique("firing_once", "schedule", "scheduled_for"),
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
            index(
                "firing_held", "schedule", "scheduled_for", where=Q(status=FiringStatus.DEFERRED)
            ),
            index(
                "firing_at_work", "schedule", where=Q(status=FiringStatus.STARTED, run_ended=False)
            ),
            index("firing_age", "created_at"),
            index("firing_run", "run_id", where=Q(run_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"firing of {self.schedule}"
