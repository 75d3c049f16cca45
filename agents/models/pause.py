"""What is held back: a queue, a workspace, a tool, or everything."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from heartbit_site.base.models import Workspace


class PauseKind(models.TextChoices):
    """How much of it."""

    QUEUE = "queue", "A queue"
    WORKSPACE = "workspace", "A workspace"
    TOOL = "tool", "A tool"
    ALL = "all", "Everything"


class Pause(models.Model):
    """One thing that is held back, for as long as the row is there; few at any time.

    Nothing is claimed from a paused queue, and what is at work goes on. Of a stopped workspace, and
    of everything, what is at work is handed back too, and new runs are refused (``sql/fleet.sql``).
    A stopped tool is called by no run, and the runs go on (``runtime/stopped_tools.py``).

    Attributes:
        queue: The queue's name; empty for the other kinds.
        workspace: Which one; for a tool, where it is stopped, null: everywhere; else null.
        tool: The tool's name; empty for the other kinds.
        reason: For whoever wonders why nothing moves.
        by: Who, as people read it.
        by_operator: Whether an operator placed it, who alone can end it then; else it is the
            workspace's own, placed by whoever manages that. Both may exist at once.
    """

    kind = models.CharField(max_length=9, choices=PauseKind.choices)
    queue = models.CharField(max_length=64, blank=True, default="", db_default="")
    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.CASCADE, related_name="pauses"
    )
    tool = models.CharField(max_length=64, blank=True, default="", db_default="")
    reason = models.CharField(max_length=500, blank=True, default="", db_default="")
    by = models.CharField(max_length=200)
    # Of a row whose writer does not say, only operators dispose.
    by_operator = models.BooleanField(default=True, db_default=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["at"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "queue", "workspace", "tool", "by_operator"],
                name="pause_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                name="pause_own_is_in_its_workspace",
                condition=Q(by_operator=True) | Q(workspace__isnull=False),
            ),
            models.CheckConstraint(
                name="pause_names_what_it_is_of",
                condition=Q(kind="queue", workspace__isnull=True, tool="") & ~Q(queue="")
                | Q(kind="workspace", workspace__isnull=False, queue="", tool="")
                | Q(kind="tool", queue="") & ~Q(tool="")
                | Q(kind="all", workspace__isnull=True, queue="", tool=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.tool or self.queue or self.workspace or ''}".strip()
