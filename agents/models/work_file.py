"""Files of the folders that runs work in."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from agents.models.run import Run
from heartbit_site.base.models.constraints import unique


class WorkFile(models.Model):
    """A file in the folder of a run tree, as written by one call; a path's newest row counts.

    Attributes:
        call: The call's idempotency key: a repeated call replaces its earlier files.
        content: Null: the call deleted the file.
        size: Bytes of ``content``.
    """

    root = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+", db_index=False)
    path = models.CharField(max_length=200)
    call = models.CharField(max_length=80)
    content = models.BinaryField(null=True)
    size = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [unique("work_file_once_a_call", "root", "path", "call")]

    def __str__(self) -> str:
        return self.path
