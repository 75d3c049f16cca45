"""A workspace: the tenant that every other row belongs to."""

from __future__ import annotations

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from heartbit_site.base.models.tier import Tier


class Workspace(models.Model):
    """A tenant. Every query is scoped to one."""

    slug = models.SlugField(
        unique=True, help_text="Short name, used in URLs and on the command line."
    )
    name = models.CharField(max_length=200)
    default_model = models.CharField(
        max_length=200,
        blank=True,
        validators=[RegexValidator(r"^[a-z]+:\S+$", "Write provider:model, e.g. openai:gpt-5.")],
        help_text="provider:model for agents that name none. Empty: the installation's default.",
    )
    retention_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        default=90,
        db_default=90,
        validators=[MinValueValidator(1)],
        help_text="Days until finished runs are archived and deleted. Empty: never.",
    )
    tier = models.ForeignKey(
        Tier,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="workspaces",
        help_text="Quotas of the workspace. Empty: no limits.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name

    @property
    def kept_days(self) -> int | None:
        """Days until finished runs are archived: its own value or its tier's; None: never."""
        tiers = self.tier.retention_days if self.tier is not None else None
        limits = (self.retention_days, tiers)
        return min((days for days in limits if days is not None), default=None)
