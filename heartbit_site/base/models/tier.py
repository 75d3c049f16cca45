"""Tiers: limits that many workspaces share."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

_NONE = "Empty: no limit."


class Tier(models.Model):
    """A set of limits for workspaces; an empty limit does not limit.

    Attributes:
        runs_per_day: Runs that are started in a day (UTC); sub-agents' runs do not count.
        tokens_per_month: Tokens of all model calls in a month (UTC).
        usd_per_month: Cost of these calls in US dollars; an unknown cost counts as 0.
        runs_at_once: Runs of the fleet that may be active at the same time.
        retention_days: Days until finished runs are deleted, unless the workspace has fewer.
        warn_at: Percentage of a limit at which a warning is sent.
    """

    name = models.SlugField(max_length=40, unique=True, help_text="Such as starter.")
    runs_per_day = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=f"The day begins at midnight UTC. {_NONE}",
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
        help_text=f"{_NONE} Calls of unknown price count as nothing.",
    )
    runs_at_once = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=f"Further runs are queued until one of these ends or waits. {_NONE}",
    )
    retention_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=(
            "Days until finished runs are archived and deleted, unless the workspace has fewer. "
            "Empty: the workspace's own figure."
        ),
    )
    warn_at = models.PositiveSmallIntegerField(
        default=80,
        db_default=80,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Percentage of a limit at which a warning is sent, once per period.",
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
