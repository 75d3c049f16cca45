"""Settings of a workspace's memories."""

from __future__ import annotations

from django.db import models

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import one_of
from memory.choices import KeptDays


class MemoryPolicy(models.Model):
    """Settings of a workspace's memories; a workspace without a row has the defaults.

    Attributes:
        embedding_model: ``local``, or ``provider:model``; empty: recall is by words alone.
        dimensions: Dimensions of the model's vectors; null: no model.
        problem: The model's last error; empty: it answered.
        kept_days: Days until a memory that was neither changed nor recalled is erased; null: never.
    """

    workspace = models.OneToOneField(
        Workspace, on_delete=models.CASCADE, primary_key=True, related_name="memory_policy"
    )
    embedding_model = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="local, or provider:model of an enabled provider account, such as "
        "openai:text-embedding-3-small, which is then sent all memories and documents. Empty: "
        "words alone are found.",
    )
    dimensions = models.PositiveSmallIntegerField(null=True, editable=False)
    problem = models.TextField(blank=True, default="", editable=False)
    kept_days = models.PositiveSmallIntegerField(
        "kept",
        null=True,
        blank=True,
        choices=KeptDays,
        help_text="Time until a memory that was neither changed nor recalled is erased for good. "
        "Empty: never.",
    )

    class Meta:
        verbose_name = "memory settings"
        verbose_name_plural = "memory settings"
        ordering = ["workspace"]
        constraints = [one_of("kept_days", KeptDays.values, name="memory_kept_days_known")]

    def __str__(self) -> str:
        return f"Memory settings of {self.workspace}"
