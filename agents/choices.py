"""The words a run's rows may hold, with their named sets."""

from __future__ import annotations

from django.db import models


class RunStatus(models.TextChoices):
    """Where a run is. Transitions are in ``agents.runs.transitions``, nowhere else."""

    QUEUED = "queued", "Queued"  # may be claimed when due
    RUNNING = "running", "Running"  # a worker holds its lease
    WAITING = "waiting", "Waiting"  # holds no worker; open waits keep it here
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    QUARANTINED = "quarantined", "Quarantined"  # killed its workers too often


LIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING})
TERMINAL = frozenset(
    {RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.QUARANTINED}
)


class RunKind(models.TextChoices):
    """What a run executes."""

    AGENT = "agent", "Agent"


class Home(models.TextChoices):
    """Who may execute a run: the worker fleet, or one local process (and its heirs)."""

    FLEET = "fleet", "Fleet"
    LOCAL = "local", "Local"


class CallStatus(models.TextChoices):
    """Where a tool call is."""

    PENDING = "pending", "Pending"
    STARTED = "started", "Started"  # intent committed; the outcome is not known yet
    WAITING = "waiting", "Waiting"
    OK = "ok", "OK"
    ERROR = "error", "Error"
    TIMEOUT = "timeout", "Timed out"
    INVALID = "invalid", "Invalid arguments"
    REFUSED = "refused", "Refused"
    CANCELLED = "cancelled", "Cancelled"  # its run ended first
    UNCERTAIN = "uncertain", "Uncertain"  # its worker died between intent and result


class WaitKind(models.TextChoices):
    """What a suspended run waits for."""

    CHILD = "child", "Sub-agent"
