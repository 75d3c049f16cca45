"""A run: one execution of an agent; a row with a journal, not a process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from agents.choices import TERMINAL, Placement, RunKind, RunStatus
from agents.models.conversation import Conversation
from agents.models.version import AgentVersion
from agents.models.worker import WorkerHeartbeat
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace

#: When a run may start that waits for the run before it: `heartbit_held()` of the database.
HELD_UNTIL: Final = datetime(9999, 1, 1, tzinfo=UTC)


class Run(models.Model):
    """One execution. Its columns are a projection of its journal, kept by ``agents.runs`` alone.

    Attributes:
        kind: What executes it (``agents.runtime.engines``); that list knows the kinds there are.
        version: What it executes, as its kind reads it: a version's snapshot names its kind.
        agent: The agent's name, kept for people to read after the agent is renamed.
        model: ``provider:model``, settled at the first claim; empty for other kinds than agents.
        model_override: Asked for with this run; its children inherit it.
        lease_token: Rises with every claim; a write with an older one is refused.
        last_seq: The journal's last sequence number.
        open_waits: Unresolved waits; whoever brings it to zero queues the run.
        woken_at: When the broker was last told of this run; null means never.
        approve: Every tool call of this run and its children waits for a person.
        structured: The answer as the agent's response schema wants it; ``output`` is its text.
        payload: The task in its long form (``agents.output.payload``); ``task`` is its text.
        forked_from: The run whose journal it began with, up to ``forked_seq``.
        conversation: The thread it answers on. Its history is that thread's earlier runs, and
            while one of these is live, ``available_at`` is ``HELD_UNTIL``.
        started_by: Who started it, as people read it; empty: nobody is named. Only the run at the
            top of a tree has it.
        started_user: The account of that person. None: a key's run, whoever made the key.
        hops: How many steps in a row led to what an agent planned and this run does: plans, and
            messages before them. What messages lead to is found by them (``agents.messaging``).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # An index that begins with it is below; so for the other keys without one of their own.
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="runs", db_index=False
    )
    kind = models.CharField(max_length=16, default=RunKind.AGENT)
    version = models.ForeignKey(AgentVersion, on_delete=models.PROTECT, related_name="runs")
    agent = models.CharField(max_length=64)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="children"
    )
    root = models.ForeignKey("self", on_delete=models.CASCADE, related_name="tree")
    status = models.CharField(max_length=16, choices=RunStatus.choices, default=RunStatus.QUEUED)
    task = models.TextField(help_text="What the agent is asked to do.")
    payload = models.JSONField(null=True, blank=True)
    conversation = models.ForeignKey(
        Conversation,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="runs",
        db_index=False,
    )
    forked_from = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="forks",
        db_index=False,  # almost always null: see the partial index
    )
    forked_seq = models.PositiveIntegerField(default=0, db_default=0)
    started_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    started_user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    hops = models.PositiveSmallIntegerField(default=0, db_default=0)
    approve = models.BooleanField(default=False, db_default=False)
    output = models.TextField(null=True, blank=True)  # noqa: DJ001  null: no output yet
    structured = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    model = models.CharField(max_length=200, blank=True)
    model_override = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    priority = models.SmallIntegerField(
        default=0, help_text="Higher goes first, among its workspace's runs."
    )
    queue = models.CharField(max_length=64, default="agents")
    home = models.CharField(max_length=8, choices=Placement.choices, default=Placement.FLEET)
    lease_token = models.BigIntegerField(default=0)
    worker = models.ForeignKey(
        WorkerHeartbeat,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="runs",
        db_index=False,
    )
    crashes = models.PositiveIntegerField(
        default=0, help_text="Workers that died with it since its last progress."
    )
    last_seq = models.PositiveIntegerField(default=0)
    open_waits = models.PositiveIntegerField(default=0)
    available_at = models.DateTimeField(db_default=Now())
    woken_at = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    idempotency_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001  null: none
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                name="run_status_known", condition=Q(status__in=list(RunStatus.values))
            ),
            models.CheckConstraint(
                name="run_finished_iff_terminal",
                condition=Q(status__in=sorted(TERMINAL), finished_at__isnull=False)
                | (~Q(status__in=sorted(TERMINAL)) & Q(finished_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="run_held_iff_running",
                condition=Q(status=RunStatus.RUNNING) | Q(worker__isnull=True),
            ),
            models.CheckConstraint(
                name="run_waits_iff_waiting",
                condition=~Q(status=RunStatus.WAITING) | Q(open_waits__gt=0),
            ),
            models.UniqueConstraint(
                fields=["workspace", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="run_idempotency_key",
            ),
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(
                    status__in=[RunStatus.RUNNING, RunStatus.WAITING], conversation__isnull=False
                ),
                name="run_one_at_work_per_conversation",
            ),
        ]
        indexes = [
            models.Index(
                F("queue"),
                F("workspace"),
                F("priority").desc(),
                F("available_at"),
                condition=Q(status=RunStatus.QUEUED, home=Placement.FLEET),
                name="run_claimable",
            ),
            models.Index(  # of these, what belongs to a tree that has begun
                F("queue"),
                F("workspace"),
                F("priority").desc(),
                F("id"),
                condition=Q(status=RunStatus.QUEUED, home=Placement.FLEET)
                & (Q(parent__isnull=False) | Q(started_at__isnull=False)),
                name="run_begun",
            ),
            models.Index(  # how many of each workspace are at work
                fields=["workspace"],
                condition=Q(status=RunStatus.RUNNING, home=Placement.FLEET),
                name="run_at_work",
            ),
            models.Index(fields=["worker"], condition=Q(worker__isnull=False), name="run_held_by"),
            models.Index(fields=["workspace", "-created_at"], name="run_recent"),
            models.Index(
                fields=["conversation", "created_at"],
                condition=Q(conversation__isnull=False),
                name="run_of_conversation",
            ),
            models.Index(
                fields=["version"], condition=Q(finished_at__isnull=True), name="run_live"
            ),
            models.Index(
                fields=["created_at"],
                condition=Q(status=RunStatus.QUARANTINED),
                name="run_quarantined",
            ),
            models.Index(  # what webhooks look for
                fields=["workspace", "finished_at"],
                condition=Q(finished_at__isnull=False, parent__isnull=True),
                name="run_ended",
            ),
            models.Index(
                fields=["forked_from"],
                condition=Q(forked_from__isnull=False),
                name="run_forks",
            ),
            models.Index(  # somebody's own, the newest first; and those of an account that goes
                fields=["started_user", "workspace", "-id"],
                condition=Q(started_user__isnull=False),
                name="run_started_by",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent} · {self.task[:60]}"

    @property
    def held(self) -> bool:
        """True while the run waits for the run before it on its conversation."""
        return self.status == RunStatus.QUEUED and self.available_at == HELD_UNTIL
