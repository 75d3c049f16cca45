"""The journal of a run and its projections: events, tool calls, waits, blackboard."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import CallStatus
from agents.journal import waits
from agents.models.run import Run
from heartbit_site.base.models.constraints import index, one_of, ranges, unique


class RunEvent(models.Model):
    """An event of a journal (types: ``agents.journal.events``); the database refuses changes."""

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=40)
    payload = models.JSONField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["run_id", "seq"]
        indexes = [ranges("event_age", "at")]  # for ``agents.system_events``

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class ToolCall(models.Model):
    """One tool call of a run, with its effect class and outcome.

    Attributes:
        call_id: Heartbit's id, ``turn.index``; ``provider_id`` is the id of the model's provider.
        arguments: JSON text as written by the model.
        approval_view: The call as displayed for approval: parsed arguments and the reason.
        digest: SHA-256 of the displayed call; a decision has to name it.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="calls", db_index=False)
    call_id = models.CharField(max_length=24)
    provider_id = models.CharField(max_length=200, blank=True)
    tool = models.CharField(max_length=200)
    arguments = models.TextField(help_text="JSON text as written by the model.")
    approval_view = models.JSONField(null=True, blank=True)
    digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    effect = models.CharField(max_length=16, blank=True)
    status = models.CharField(max_length=16, choices=CallStatus.choices, default=CallStatus.PENDING)
    result = models.TextField(null=True, blank=True)  # noqa: DJ001  null: none yet
    idempotency_key = models.CharField(max_length=80)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            unique("call_once_per_run", "run", "call_id"),
            one_of("status", CallStatus.values, name="call_status_known"),
        ]
        # No index includes the status, so updates of a call write no index. Waiting calls are
        # found through their waits.

    def __str__(self) -> str:
        return f"{self.tool} ({self.call_id})"


class Wait(models.Model):
    """A durable promise that a suspended run waits for; resolved once.

    Attributes:
        key: Unique key among the waits of the run; opaque.
        kind: One of ``agents.journal.waits``.
        asks_person: True if a person resolves this kind of wait.
        child_id: Awaited run; null: no run is awaited, or the wait is a fork's copy.
        timeout_seconds: Initial timeout; null: none.
        expires_at: Time at which the wait is resolved as expired; null: never.
        escalates_at: Time at which more people may decide about a call; null: never.
        escalated_at: Time of the escalation; null: none yet.
        announced_at: Time of the mails to those who may end it; null: none yet.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="waits", db_index=False)
    key = models.CharField(max_length=80)
    kind = models.CharField(max_length=waits.MOST_CHARACTERS)
    asks_person = models.BooleanField(default=False, db_default=False)
    child_id = models.UUIDField(null=True, blank=True)
    call_id = models.CharField(max_length=24, blank=True)
    value = models.JSONField(null=True, blank=True)
    timeout_seconds = models.FloatField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    escalates_at = models.DateTimeField(null=True, blank=True)
    escalated_at = models.DateTimeField(null=True, blank=True)
    announced_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            unique("wait_once_per_run", "run", "key"),
            unique("wait_once_per_child", "child_id"),
            models.CheckConstraint(
                name="wait_value_iff_resolved",
                condition=Q(value__isnull=True, resolved_at__isnull=True)
                | Q(value__isnull=False, resolved_at__isnull=False),
            ),
        ]
        indexes = [
            index(
                "wait_expiring",
                "expires_at",
                where=Q(resolved_at__isnull=True, expires_at__isnull=False),
            ),
            index(
                "wait_escalating",
                "escalates_at",
                where=Q(
                    resolved_at__isnull=True, escalates_at__isnull=False, escalated_at__isnull=True
                ),
            ),
            index("wait_for_people", "run", where=Q(asks_person=True, resolved_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return self.key


class BlackboardEntry(models.Model):
    """A value shared by one run tree; a finished sub-agent's result is at ``agent:<name>``."""

    root = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="blackboard", db_index=False
    )
    key = models.CharField(max_length=200)
    value = models.JSONField()
    author = models.CharField(max_length=64)
    expires_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["key"]
        verbose_name_plural = "blackboard entries"
        constraints = [unique("blackboard_key", "root", "key")]

    def __str__(self) -> str:
        return self.key
