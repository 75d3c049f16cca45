"""Pauses of a queue, a workspace, a tool, or the whole fleet."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import unique


class PauseKind(models.TextChoices):
    """Scopes of a pause."""

    QUEUE = "queue", "Queue"
    WORKSPACE = "workspace", "Workspace"
    TOOL = "tool", "Tool"
    ALL = "all", "Fleet"


class Pause(models.Model):
    """A pause, in force while its row exists; there are few rows at any time.

    A paused queue: no run is claimed, running runs continue. A halted workspace or fleet: running
    runs are requeued as well, and new runs are refused (``sql/fleet.sql``). A disabled tool: its
    calls are refused, runs continue (``runtime/toolset/stopped_tools.py``).

    Attributes:
        queue: Name of the queue; empty for other kinds.
        workspace: The workspace; for a tool, null means all workspaces; null for other kinds.
        tool: Name of the tool; empty for other kinds.
        reason: Reason for people who see blocked runs.
        by: Display name of the person who paused.
        by_operator: True if only an operator can end the pause; False if it belongs to the
            workspace. Both may exist at once.
    """

    kind = models.CharField(max_length=9, choices=PauseKind.choices)
    queue = models.CharField(max_length=64, blank=True, default="", db_default="")
    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.CASCADE, related_name="pauses"
    )
    tool = models.CharField(max_length=64, blank=True, default="", db_default="")
    reason = models.CharField(max_length=500, blank=True, default="", db_default="")
    by = models.CharField(max_length=200)
    # The safe default: only operators can end a pause of unknown author.
    by_operator = models.BooleanField(default=True, db_default=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["at"]
        constraints = [
            unique(
                "pause_once",
                "kind",
                "queue",
                "workspace",
                "tool",
                "by_operator",
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
