"""A run: one execution of an agent; a row with a journal, not a process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models import F, Q
from django.db.models.fields.json import KT
from django.db.models.functions import Left, Now

from agents.choices import TERMINAL, Placement, RunKind, RunStatus
from agents.models.conversation import Conversation
from agents.models.private_row import PrivateRow
from agents.models.version import AgentVersion
from agents.models.worker import WorkerHeartbeat
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, present, unique

#: ``available_at`` of a run that waits for the previous one: the database's `heartbit_held()`.
HELD_UNTIL: Final = datetime(9999, 1, 1, tzinfo=UTC)
#: What a search finds a run by. Of long texts the beginning: a vector has at most a megabyte.
WORDS: Final = SearchVector(
    "agent", Left("task", 20_000), Left("output", 20_000), KT("error__message"), config="simple"
)


class Run(PrivateRow):
    """One execution. Its columns are a projection of its journal, written only by ``agents.runs``.

    Attributes:
        kind: Kind of engine that executes the run (``agents.runtime.execution.engines``).
        version: Pinned version; its snapshot is read by the engine of its kind.
        agent: Name of the agent at the start of the run; later renames do not change it.
        model: ``provider:model``, set at the first claim; empty for kinds without a model.
        model_override: Model requested for this run; inherited by its children.
        lease_token: Fencing token, raised by every claim; writes with an older token are refused.
        crashes: Number of worker crashes since the last progress.
        last_seq: Last sequence number of the journal.
        open_waits: Number of unresolved waits.
        wake_at: Number of unresolved waits at which a waiting run is queued again.
        woken_at: Time of the last wake-up sent through the broker; null: none yet.
        approve: True if every tool call of the run and its children needs an approval.
        structured: The answer according to the agent's response schema; ``output`` is its text.
        payload: Structured form of the task (``agents.output.payload``); ``task`` is its text.
        forked_from: Source run of a fork, whose journal was copied up to ``forked_seq``.
        conversation: Conversation of the run. Its earlier runs are the run's history; while one
            of them is live, ``available_at`` is ``HELD_UNTIL``.
        started_by: Display name of the person or program that started a root run; empty: unknown.
        started_user: Account of that person; null: started with an API key or by a program.
        hops: Length of the chain of schedules and messages that led to this run; chains of
            messages alone are found in ``agents.messaging``.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # ``Meta.indexes`` has an index that begins with this key; so for others with db_index=False.
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="runs", db_index=False
    )
    kind = models.CharField(max_length=16, default=RunKind.AGENT)
    version = models.ForeignKey(
        AgentVersion, on_delete=models.PROTECT, related_name="runs", db_index=False
    )
    agent = models.CharField(max_length=64)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="children"
    )
    root = models.ForeignKey("self", on_delete=models.CASCADE, related_name="tree")
    status = models.CharField(max_length=16, choices=RunStatus.choices, default=RunStatus.QUEUED)
    task = models.TextField(help_text="Task of the agent.")
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
        default=0, help_text="Order within the workspace; higher values start first."
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
        default=0, help_text="Worker crashes since the last progress."
    )
    last_seq = models.PositiveIntegerField(default=0)
    open_waits = models.PositiveIntegerField(default=0)
    wake_at = models.PositiveIntegerField(default=0, db_default=0)
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
            one_of("status", RunStatus.values, name="run_status_known"),
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
            unique(
                "run_idempotency_key",
                "workspace",
                "idempotency_key",
                where=present("idempotency_key"),
            ),
            unique(
                "run_one_at_work_per_conversation",
                "conversation",
                where=Q(
                    status__in=[RunStatus.RUNNING, RunStatus.WAITING], conversation__isnull=False
                ),
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
            models.Index(  # queued runs of trees that have begun
                F("queue"),
                F("workspace"),
                F("priority").desc(),
                F("id"),
                condition=Q(status=RunStatus.QUEUED, home=Placement.FLEET)
                & (Q(parent__isnull=False) | Q(started_at__isnull=False)),
                name="run_begun",
            ),
            # running runs per workspace
            index(
                "run_at_work", "workspace", where=Q(status=RunStatus.RUNNING, home=Placement.FLEET)
            ),
            index("run_held_by", "worker", where=present("worker")),
            index("run_recent", "workspace", "-created_at"),
            index(
                "run_of_conversation", "conversation", "created_at", where=present("conversation")
            ),
            index("run_live", "version", where=Q(finished_at__isnull=True)),
            # the newest of few among many: of a version, of an agent, in a state
            index("run_of_version", "version", "-created_at"),
            index("run_of_agent", "workspace", "agent", "-id"),
            index(
                "run_in_state",
                "workspace",
                "status",
                "-id",
                where=~Q(status=RunStatus.SUCCEEDED),
            ),
            # of both kinds of failure, the newest first
            index(
                "run_failed",
                "workspace",
                "-id",
                where=Q(status__in=[RunStatus.FAILED, RunStatus.QUARANTINED]),
            ),
            index("run_quarantined", "created_at", where=Q(status=RunStatus.QUARANTINED)),
            # for polling webhook events
            index(
                "run_ended",
                "workspace",
                "finished_at",
                where=Q(finished_at__isnull=False, parent__isnull=True),
            ),
            GinIndex(WORDS, name="run_words"),
            index("run_forks", "forked_from", where=present("forked_from")),
            # runs of a person, the newest first, also of a deleted account
            index(
                "run_started_by", "started_user", "workspace", "-id", where=present("started_user")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent} · {self.task[:60]}"

    @property
    def is_sub_agent(self) -> bool:
        """True for a child that cannot delegate: a workflow's child can."""
        return self.parent is not None and self.parent.kind != RunKind.WORKFLOW

    @property
    def held(self) -> bool:
        """True while the run waits for the previous run of its conversation."""
        return self.status == RunStatus.QUEUED and self.available_at == HELD_UNTIL
