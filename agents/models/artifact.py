"""Stored artifacts of runs."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from agents.models.run import Run
from heartbit_site.base.models.constraints import unique


class Artifact(models.Model):
    """A result of a tool that is too long for the model, stored whole with its run.

    Attributes:
        name: Tool, call and beginning of the hash: a repeated call with another result has
            another name, so a row never changes.
        size: Bytes of ``content``.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=120)
    content_type = models.CharField(max_length=100)
    content = models.BinaryField()
    size = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [unique("artifact_name_once", "run", "name")]

    def __str__(self) -> str:
        return self.name
