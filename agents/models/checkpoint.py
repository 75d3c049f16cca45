"""Checkpoint of a run: its folded journal, a cache for long journals."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from agents.models.run import Run


class Checkpoint(models.Model):
    """The fold of a journal up to ``seq``: a cache; the journal stays authoritative.

    Attributes:
        format: Format version of ``state``; readers of other versions fold the whole journal.
        state: the state of the run's kind (``agents.definitions.kinds``) as JSON.
    """

    run = models.OneToOneField(
        Run, primary_key=True, on_delete=models.CASCADE, related_name="checkpoint"
    )
    seq = models.PositiveIntegerField()
    format = models.PositiveIntegerField()
    state = models.JSONField()
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"up to {self.seq}"
