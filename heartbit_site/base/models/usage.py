"""The usage ledger: one row per model call, append-only."""

from __future__ import annotations

from django.db import models

from heartbit_site.base.models.constraints import index
from heartbit_site.base.models.workspace import Workspace


class UsageEntry(models.Model):
    """Usage of one model call.

    ``run_id`` is a plain id because the ledger outlives runs (retention) and lies below them.
    ``cost_usd`` is null when the price is unknown, never 0 for unknown.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="usage", db_index=False
    )
    run_id = models.UUIDField(db_index=True)
    turn = models.PositiveIntegerField()
    model = models.CharField(max_length=200)
    input_tokens = models.PositiveIntegerField()
    output_tokens = models.PositiveIntegerField()
    cached_input_tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "usage entries"
        indexes = [index("usage_by_workspace", "workspace", "at")]
