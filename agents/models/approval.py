"""Decisions about tool calls, the votes that lead to them, and standing permissions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import VERDICTS, CallResolution, Verdict
from agents.models.agent import Agent
from agents.models.run import Run
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, unique


class Grant(models.Model):
    """A standing permission ("always allow") for one tool of one agent.

    Valid for one definition of the tool: a changed definition needs a new grant.

    Attributes:
        root: Root of the run tree that the grant is limited to; null: all runs of the agent.
        expires_at: Expiry time; null: valid until the tree ends or the grant is revoked.
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
        indexes = [index("grant_standing", "agent", "tool", where=Q(revoked_at__isnull=True))]

    def __str__(self) -> str:
        return f"{self.agent.name}: {self.tool}"


class Vote(models.Model):
    """One approval of a call that requires several; the last required vote decides the call.

    Attributes:
        voter: Unique key of the person: the account, else the name.
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
        constraints = [unique("one_vote_each", "run", "wait_key", "voter")]

    def __str__(self) -> str:
        return f"{self.by}: {self.wait_key}"


class Decision(models.Model):
    """A person's decision about one tool call, bound to the digest of the displayed call.

    Attributes:
        wait_key: Key of the resolved wait: ``approval:CALL``, or ``outcome:CALL:N`` for the
            resolution of an uncertain call.
        digest: SHA-256 of the call as displayed (``tools.calls.approval``).
        executed_digest: SHA-256 of the call as it runs; differs from ``digest`` if a person edited
            the arguments, empty if nothing runs.
        arguments: Arguments edited by a person, or a question's arguments with its answer, as JSON
            text; null: as the model wrote them.
        grant: Standing permission created by the decision, or applied by it.
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
            unique("one_decision_per_question", "run", "wait_key"),
            one_of("verdict", VERDICTS, name="decision_verdict_known"),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} {self.call_id}"
