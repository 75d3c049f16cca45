"""Histories of memories."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from memory.choices import ChangeKind
from memory.models.item import MemoryItem


class MemoryChange(models.Model):
    """A change of a memory; deleted with the memory.

    Attributes:
        before: The memory's content before the change; null for a new memory.
        reason: Reason that the author gave.
        author: Name of the person, or of the agent.
        run_id: The run that made the change, or in which it was said if another run extracted it;
            null: a person or a program did.
        undone_at: Time at which the change was undone; null if it was not.
    """

    item = models.ForeignKey(MemoryItem, on_delete=models.CASCADE, related_name="changes")
    kind = models.CharField(max_length=16, choices=ChangeKind)
    before = models.JSONField(null=True)
    reason = models.TextField(blank=True, default="")
    author = models.CharField(max_length=200)
    run_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    undone_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "change of a memory"
        verbose_name_plural = "history"
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.get_kind_display()
