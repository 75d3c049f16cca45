"""Choices of schedules and firings."""

from __future__ import annotations

from django.db import models


class Kind(models.TextChoices):
    """Kind of recurrence."""

    CRON = "cron", "Cron expression"
    INTERVAL = "interval", "Interval"
    ONCE = "once", "Once"


class TaskType(models.TextChoices):
    """Kind of work that a firing starts."""

    TASK = "task", "Task for the agent"
    MESSAGE = "message", "Message in the schedule's conversation"
    TOOL_CALL = "tool_call", "Call of one of the agent's tools"
    WORKFLOW = "workflow", "Run of a workflow with data"


#: Kinds of work that take an input: a workflow's own, and the long form of a task.
WITH_INPUT = frozenset({TaskType.WORKFLOW, TaskType.TASK})


class CatchUp(models.TextChoices):
    """Policy for occurrences that were missed while no worker could fire them."""

    NONE = "none", "None"
    LATEST = "latest", "Latest firing"
    ALL = "all", "All firings"


class Overlap(models.TextChoices):
    """Policy for an occurrence while the schedule's previous run is still running."""

    SKIP = "skip", "Skip"
    QUEUE = "queue", "Queue"
    PARALLEL = "parallel", "Run in parallel"


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
    TEST = "test", "Test"  # delivers only to the person who started it
