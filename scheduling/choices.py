"""Stored values of the scheduling app."""

from __future__ import annotations

from django.db import models


class Kind(models.TextChoices):
    """Kinds of recurrence."""

    CRON = "cron", "Cron expression"
    INTERVAL = "interval", "Interval"
    ONCE = "once", "Once"


class TaskType(models.TextChoices):
    """Actions of a schedule."""

    TASK = "task", "Task for the agent"
    MESSAGE = "message", "Message in the schedule's conversation"
    TOOL_CALL = "tool_call", "Call of one of the agent's tools"


class CatchUp(models.TextChoices):
    """Catch-up policies for occurrences that passed while no process could fire them."""

    NONE = "none", "None"
    LATEST = "latest", "Latest occurrence"
    ALL = "all", "All occurrences"


class Overlap(models.TextChoices):
    """Policies for an occurrence while the schedule's previous run is active."""

    SKIP = "skip", "Skip"
    QUEUE = "queue", "Queue"
    PARALLEL = "parallel", "Run in parallel"


class FiringStatus(models.TextChoices):
    """Statuses of a firing."""

    STARTED = "started", "Started"
    DEFERRED = "deferred", "Deferred"  # starts when the previous run has ended, or when it can
    SKIPPED = "skipped", "Skipped"  # by the policies of its schedule
    FAILED = "failed", "Failed"  # no run could be started


class Trigger(models.TextChoices):
    """Causes of a firing."""

    SCHEDULE = "schedule", "Schedule"
    MANUAL = "manual", "Manual"
    BACKFILL = "backfill", "Backfill"
