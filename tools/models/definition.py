"""Definitions of tools as displayed to models and people."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class ToolDefinition(models.Model):
    """Pinned definition of a tool; the database refuses updates.

    The columns are those covered by ``definition_hash`` of ``tools.definitions.registry``: equal
    definitions of two packages or workspaces share a row.

    Attributes:
        parameters: JSON Schema as text: ``jsonb`` would lose the order of the arguments.
        answer_parameter: Parameter filled by a person's answer; empty: there is none.
    """

    hash = models.CharField(max_length=64, primary_key=True)
    name = models.CharField(max_length=64)
    description = models.TextField()
    parameters = models.TextField()
    effect = models.CharField(max_length=16)
    answer_parameter = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name", "created_at"]

    def __str__(self) -> str:
        return f"{self.name} {self.hash[:12]}"
