"""Figures of spans of time that are over, so that pages of many days read few rows."""

from __future__ import annotations

from django.db import models

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index


class SpanFigures(models.Model):
    """Runs and model calls of one version with one model in one span: a sum, and part of a sum.

    Rows outlive the runs and versions that they count, so ``version_id`` is a plain id.

    Attributes:
        start: A multiple of ``minutes``, which are 5, 60 or a day's, since midnight of UTC.
        version_id: Null: of model calls whose run was deleted before.
        is_root: False: runs of sub-agents.
        runs: Accepted in the span.
        ended: Runs whose tree ended in the span, whenever they were accepted; of them are
            ``succeeded`` and ``failed``.
        seconds: Sum of their durations from start to end.
        lasted: How many of those took how long from start to end, by ``durations.bucket``.
        waited: How many of those waited how long to be started, if they are roots.
        tokens: Input and output; ``input_tokens`` is the first part.
        cost_usd: Of calls with a known price; ``unpriced`` counts the others.
        tree_cost_usd: Of all model calls of the workflows' runs that ended and of the runs below
            them, with ``tree_unpriced``; 0 for other kinds of run.
        last_run: The newest of ``runs``.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="figures", db_index=False
    )
    start = models.DateTimeField()
    minutes = models.PositiveSmallIntegerField()
    version_id = models.BigIntegerField(null=True)
    agent = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=200, blank=True)
    is_root = models.BooleanField()
    runs = models.PositiveIntegerField()
    ended = models.PositiveIntegerField()
    succeeded = models.PositiveIntegerField(db_default=0)
    failed = models.PositiveIntegerField()
    seconds = models.FloatField(db_default=0)
    lasted = models.JSONField()
    waited = models.JSONField()
    calls = models.PositiveIntegerField()
    unpriced = models.PositiveIntegerField()
    tokens = models.PositiveBigIntegerField()
    input_tokens = models.PositiveBigIntegerField(db_default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8)
    tree_cost_usd = models.DecimalField(max_digits=14, decimal_places=8, db_default=0)
    tree_unpriced = models.PositiveIntegerField(db_default=0)
    last_run = models.UUIDField(null=True)

    class Meta:
        ordering = ["-start"]
        indexes = [
            index("figures_of_workspace", "workspace", "start"),
            index("figures_by_length", "minutes", "start"),
        ]

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M} {self.agent} {self.model}"
