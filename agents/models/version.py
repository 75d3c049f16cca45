"""The immutable snapshot of an agent that runs are pinned to."""

from __future__ import annotations

from typing import Final

from django.db import models
from django.db.models import Q

from agents.models.agent import Agent
from heartbit_site.base.models.constraints import index, unique

#: A node's result is routed, so it is never cut.
MOST_RESULT_BYTES: Final = 100_000_000


class AgentVersion(models.Model):
    """Snapshot of an agent that runs are pinned to; the database refuses updates.

    ``snapshot`` has a format version and no names, times or secrets; ``hash`` is the SHA-256 of
    its canonical JSON, so publishing an unchanged agent makes no new version.

    Attributes:
        note: What the author said of the change; empty: nothing.
        published_by: Display name of the person or program that published it first; empty: unknown.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    snapshot = models.JSONField()
    note = models.CharField(max_length=500, blank=True, default="", db_default="")
    published_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            unique("version_hash_per_agent", "agent", "hash"),
            unique("version_number_per_agent", "agent", "number"),
        ]
        indexes = [
            index("version_timed", "id", where=Q(snapshot__limits__has_key="max_wall_seconds")),
        ]

    def __str__(self) -> str:
        return f"{self.agent.name} v{self.number}"

    @property
    def model(self) -> str:
        """The model that its runs use; empty: the installation's default."""
        return str(self.snapshot.get("model", ""))

    @property
    def max_tool_output_bytes(self) -> int:
        """Longest result of a tool in its runs, in bytes."""
        limits = self.snapshot.get("limits", {})  # a workflow has others
        return int(limits.get("max_tool_output_bytes", MOST_RESULT_BYTES))

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools offered to its runs."""
        return [str(tool["name"]) for tool in self.snapshot.get("tools", ())]

    @property
    def member_names(self) -> list[str]:
        """Names of the agents that its runs may delegate to."""
        return [str(member["name"]) for member in self.snapshot.get("team", ())]
