"""The draft of an agent: settings that are tried before they are published."""

from __future__ import annotations

from typing import Final

from django.db import models

from agents.models.agent import Agent

#: ``Agent.origin`` of the rows that hold drafts; in the database's functions, too.
DRAFT: Final = "draft"


class AgentDraft(models.Model):
    """Unpublished settings of an agent; publishing or discarding them deletes the row.

    Attributes:
        agent: The agent that people edit.
        row: Row of the same name with the draft's settings, tools and team. Its versions are those
            of the draft's test runs, which so are no traffic of the agent; it outlives the draft.
        base: Number of the version that was current when the draft began; null: none was.
        saved_by: Display name of the person who saved it last.
        saved_at: When.
    """

    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, related_name="draft")
    row = models.OneToOneField(Agent, on_delete=models.CASCADE, related_name="+")
    base = models.PositiveIntegerField(null=True, blank=True)
    saved_by = models.CharField(max_length=200)
    saved_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"draft of {self.agent.name}"
