"""What people decided about tool calls: one decision a call, and standing permissions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import VERDICTS, CallResolution, Verdict
from agents.models.agent import Agent
from agents.models.run import Run
from heartbit_site.base.models import Workspace


class Grant(models.Model):
    """A standing permission ("always allow") for one tool of one agent.

    It holds for the tool as it was shown: a changed definition needs a new one.

    Attributes:
        root: The run tree it is limited to; null: every run of the agent.
        expires_at: When it ends by itself; null: with its tree, or when it is revoked.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="grants")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="grants")
    root = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.CASCADE, related_name="grants"
    )
    tool = models.CharField(max_length=64)
    definition_hash = models.CharField(max_length=64)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    granted_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(
                fields=["agent", "tool"],
                condition=Q(revoked_at__isnull=True),
                name="grant_standing",
            )
        ]

    def __str__(self) -> str:
        return f"{self.agent.name}: {self.tool}"


class Vote(models.Model):
    """One of the approvals that a call needs several of; the last one decides it.

    Attributes:
        voter: Who, as no two people are told by the same: their account, else their name.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="votes")
    wait_key = models.CharField(max_length=80)
    digest = models.CharField(max_length=64)
    voter = models.CharField(max_length=220)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    by = models.CharField(max_length=200)
    via = models.CharField(max_length=16)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["at"]
        constraints = [
            models.UniqueConstraint(fields=["run", "wait_key", "voter"], name="one_vote_each")
        ]

    def __str__(self) -> str:
        return f"{self.by}: {self.wait_key}"


class Decision(models.Model):
    """What was decided about one tool call, by whom, and for exactly what.

    Attributes:
        wait_key: What it resolved: ``approval:CALL``, or ``outcome:CALL:N`` for what became of a
            call whose worker died.
        digest: SHA-256 of what was shown (``tools.approval``).
        executed_digest: SHA-256 of the call as it runs; differs from ``digest`` if a person edited
            the arguments, empty if nothing runs.
        arguments: Those that somebody wrote, or the asked ones with their answer, as JSON text.
        grant: The standing permission it created, or that decided it.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="decisions")
    call_id = models.CharField(max_length=24)
    wait_key = models.CharField(max_length=80, default="", db_default="")
    digest = models.CharField(max_length=64)
    executed_digest = models.CharField(max_length=64, blank=True)
    verdict = models.CharField(max_length=16, choices=Verdict.choices + CallResolution.choices)
    arguments = models.TextField(null=True, blank=True)  # noqa: DJ001  null: as the model wrote them
    reason = models.TextField(blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_by = models.CharField(max_length=200)
    via = models.CharField(max_length=16)
    grant = models.ForeignKey(
        Grant, null=True, blank=True, on_delete=models.SET_NULL, related_name="decisions"
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-at"]
        constraints = [
            models.UniqueConstraint(fields=["run", "wait_key"], name="one_decision_per_question"),
            models.CheckConstraint(
                name="decision_verdict_known", condition=Q(verdict__in=VERDICTS)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} {self.call_id}"
