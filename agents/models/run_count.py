"""Numbers of started runs per limited period."""

from __future__ import annotations

from django.db import models

from agents.models.agent import Agent
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import unique


class RunCount(models.Model):
    """Started runs of a workspace's day, or of an agent's minute; counted by ``sql/quotas.sql``.

    A row exists only where a limit does. Sub-agents' runs do not count: each is part of its
    orchestrator's run.

    Attributes:
        agent: Agent of a limit per minute; null: the workspace's limit per day.
        starts_at: Start of the period of ``runs``; a later period counts from 0.
        warned_period: Start of the last period in which a warning was sent.
        exceeded_period: Start of the last period in which the limit was reached.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="run_counts", db_index=False
    )
    agent = models.ForeignKey(
        Agent,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="run_counts",
        db_index=False,
    )
    starts_at = models.DateTimeField()
    runs = models.PositiveIntegerField(default=0, db_default=0)
    warned_period = models.DateTimeField(null=True, blank=True)
    exceeded_period = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["workspace", "agent"]
        constraints = [
            unique("run_count_once", "workspace", "agent", nulls_distinct=False),
        ]

    def __str__(self) -> str:
        whose = self.agent.name if self.agent is not None else self.workspace.slug
        return f"{self.runs} of {whose}"
