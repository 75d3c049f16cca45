"""Choices of schedules and firings."""

from __future__ import annotations

from django.db import models


class Kind(models.TextChoices):
    """Kind of recurrence."""

    CRON = "cron", "A cron expression"
    INTERVAL = "interval", "An interval"
    ONCE = "once", "One point in time"


class TaskType(models.TextChoices):
    """Kind of work that a firing starts."""

    TASK = "task", "A task for the agent"
    MESSAGE = "message", "A message on the schedule's conversation"
    TOOL_CALL = "tool_call", "A call of one of the agent's tools"


class CatchUp(models.TextChoices):
    """Policy for occurrences that passed while nothing could fire."""

    NONE = "none", "Skip them"
    LATEST = "latest", "Run the last one"
    ALL = "all", "Run all of them"


class Overlap(models.TextChoices):
    """Policy for an occurrence while the schedule's previous run is still running."""

    SKIP = "skip", "Skip the slot"
    QUEUE = "queue", "Run it afterwards"
    PARALLEL = "parallel", "Run it at once"


class FiringStatus(models.TextChoices):
    """Status of a firing."""

    STARTED = "started", "Started"
    DEFERRED = "deferred", "Deferred"  # waits for the previous run, or for an obstacle to pass
    SKIPPED = "skipped", "Skipped"  # by the policies of its schedule
    FAILED = "failed", "Failed"  # no run could be started


class Trigger(models.TextChoices):
    """Reason for a firing."""

    SCHEDULE = "schedule", "Schedule"
    MANUAL = "manual", "Manual"
    BACKFILL = "backfill", "Backfill"
