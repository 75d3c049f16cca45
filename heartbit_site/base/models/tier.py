"""What workspaces of one kind may use: how much, how much at once, and for how long it is kept."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

_NONE = "Empty: no limit."


class Tier(models.Model):
    """A set of limits that a workspace is given; an empty one does not limit.

    Attributes:
        runs_per_day: Runs that are started in a day (UTC); sub-agents' runs are part of theirs.
        tokens_per_month: Of all model calls in a month (UTC).
        usd_per_month: What these cost; a cost that nobody knows counts as nothing.
        runs_at_once: How many of the fleet's runs may be at work at the same time.
        retention_days: Finished runs go after so many days, or earlier if the workspace says so.
        warn_at: Percent of a limit from which on it is worth a warning.
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
        help_text=f"Others wait until one of these ends or waits itself. {_NONE}",
    )
    retention_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=(
            "Finished runs are archived and deleted after so many days; the workspace's own figure "
            "counts where it is smaller. Empty: as the workspace says."
        ),
    )
    warn_at = models.PositiveSmallIntegerField(
        default=80,
        db_default=80,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Percent of a limit from which on a warning is given, once in its period.",
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
