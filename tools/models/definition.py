"""What a tool is, in the words that a model and a person were shown."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class ToolDefinition(models.Model):
    """A tool as agents are published with it; never updated (the database refuses it).

    It holds what ``tools.registry.definition_hash`` covers and nothing else: the same definition
    from another package, or for another workspace, is the same row.

    Attributes:
        parameters: JSON Schema as text: ``jsonb`` would forget the order of the arguments.
        answer_parameter: Of a tool that a person answers; empty: it is none.
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
