"""How many runs were started in a period that limits them."""

from __future__ import annotations

from django.db import models

from agents.models.agent import Agent
from heartbit_site.base.models import Workspace


class RunCount(models.Model):
    """Runs of a workspace's day, or of an agent's minute; ``sql/quotas.sql`` counts them.

    There is a row only where there is a limit. The counted are those that somebody started: a
    sub-agent's run is part of its orchestrator's.

    Attributes:
        agent: Whose minute; null: the workspace's day.
        starts_at: When the period began that ``runs`` is of; in a later one it counts from nothing.
        warned_period: The beginning of the last period in which a warning was given.
        exceeded_period: The same of the last one that was used up.
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
            models.UniqueConstraint(
                fields=["workspace", "agent"], name="run_count_once", nulls_distinct=False
            ),
        ]

    def __str__(self) -> str:
        whose = self.agent.name if self.agent is not None else self.workspace.slug
        return f"{self.runs} of {whose}"
