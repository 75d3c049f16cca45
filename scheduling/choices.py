"""The words that rows of schedules may hold."""

from __future__ import annotations

from django.db import models


class Kind(models.TextChoices):
    """What a schedule follows."""

    CRON = "cron", "A cron expression"
    INTERVAL = "interval", "An interval"
    ONCE = "once", "One point in time"


class TaskType(models.TextChoices):
    """What happens when it is time."""

    TASK = "task", "A task for the agent"
    MESSAGE = "message", "A message on the schedule's conversation"
    TOOL_CALL = "tool_call", "A call of one of the agent's tools"


class CatchUp(models.TextChoices):
    """Policy for slots that passed while nothing could fire."""

    NONE = "none", "Skip them"
    LATEST = "latest", "Run the last one"
    ALL = "all", "Run all of them"


class Overlap(models.TextChoices):
    """What becomes of a slot while the schedule's run before it is still at work."""

    SKIP = "skip", "Skip the slot"
    QUEUE = "queue", "Run it afterwards"
    PARALLEL = "parallel", "Run it at once"


class FiringStatus(models.TextChoices):
    """What became of a slot."""

    STARTED = "started", "Started"
    DEFERRED = "deferred", "Deferred"  # it starts when the run before it has ended, or when it can
    SKIPPED = "skipped", "Skipped"  # by the policies of its schedule
    FAILED = "failed", "Failed"  # no run could be started


class Trigger(models.TextChoices):
    """Why there is a firing."""

    SCHEDULE = "schedule", "Schedule"
    MANUAL = "manual", "Manual"
    BACKFILL = "backfill", "Backfill"
