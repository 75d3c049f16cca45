"""A workspace, the tenant that every other row belongs to, and its tier."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

_NONE = "Empty: no limit."


class Tier(models.Model):
    """A set of limits assigned to workspaces; an empty column means no limit.

    Attributes:
        runs_per_day: Started runs per day (UTC); sub-agents' runs do not count.
        tokens_per_month: Tokens of all model calls per month (UTC).
        usd_per_month: Cost of these calls in US dollars; an unknown price counts as 0.
        runs_at_once: Maximum number of concurrently running runs of the fleet.
        retention_days: Days until finished runs are archived; a workspace may have fewer.
        memory_days: Days without use until memories are erased; a workspace may have fewer.
        warn_at: Usage in percent of a limit that triggers a warning.
    """

    name = models.SlugField(max_length=40, unique=True, help_text="Name, e.g. starter.")
    runs_per_day = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=f"Started runs per day, from midnight UTC. {_NONE}",
    )
    tokens_per_month = models.PositiveBigIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text=_NONE
    )
    usd_per_month = models.DecimalField(
        "US dollars per month",
        null=True,
        blank=True,
        max_digits=12,
        decimal_places=4,
        validators=[MinValueValidator(0)],
        help_text=f"{_NONE} Calls of unknown price count as 0.",
    )
    runs_at_once = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=f"Concurrent runs; further runs stay queued. {_NONE}",
    )
    retention_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=(
            "Days until finished runs are archived and deleted; a smaller value of the workspace "
            "has precedence. Empty: the workspace's own value."
        ),
    )
    memory_days = models.PositiveIntegerField(
        "days that memories are kept",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=(
            "Days until a memory that was neither changed nor recalled is erased for good; a "
            "smaller value of the workspace's memory settings has precedence. Empty: never."
        ),
    )
    warn_at = models.PositiveSmallIntegerField(
        default=80,
        db_default=80,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Usage in percent of a limit that triggers a warning, once per period.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                name="tier_lets_something_run",
                condition=Q(runs_at_once__isnull=True) | Q(runs_at_once__gte=1),
            ),
            models.CheckConstraint(
                name="tier_warns_in_percent", condition=Q(warn_at__gte=1, warn_at__lte=100)
            ),
        ]

    def __str__(self) -> str:
        return self.name


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
