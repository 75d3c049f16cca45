"""A run's folded journal, so that a long one need not be folded from its beginning."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from agents.models.run import Run


class Checkpoint(models.Model):
    """The fold of the journal up to ``seq``: a cache, never the truth.

    Attributes:
        format: Of ``state``; a reader that does not know it folds from the beginning.
        state: ``agents.loop.state.RunState`` as JSON.
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
