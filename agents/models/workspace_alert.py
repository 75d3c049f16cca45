"""Alerts of a workspace: thresholds of its figures, and where they stand."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now

from agents.choices import Comparison, HealthFigure
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import one_of

LONGEST_WINDOW = 7 * 24 * 60  # minutes


class WorkspaceAlert(models.Model):
    """A threshold of one figure, written through ``actions.alerts``.

    The alert is raised once when the figure breaches it and resolved once when it does not any
    more (``heartbit_site.monitoring.workspace_alerts``), by a system event and by mail.

    Attributes:
        mail_to: Addresses, separated by commas; webhooks get the events ``alert.*`` by themselves.
        raised_at: Start of the present breach; null: there is none.
        value: The figure at its last evaluation; null: there was nothing to measure.
        unsent: Sentences to mail.
        mail_at: Time of the next attempt to mail them.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="alerts")
    figure = models.CharField(max_length=20, choices=HealthFigure.choices)
    comparison = models.CharField(
        max_length=5, choices=Comparison.choices, default=Comparison.ABOVE
    )
    threshold = models.DecimalField(
        max_digits=14,
        decimal_places=4,
        validators=[MinValueValidator(0)],
        help_text="Seconds, a count, percent or US dollars, as the figure has it.",
    )
    window_minutes = models.PositiveIntegerField(
        "window in minutes",
        default=60,
        validators=[MinValueValidator(5), MaxValueValidator(LONGEST_WINDOW)],
        help_text="Minutes up to now that the figure covers.",
    )
    mail_to = models.CharField(
        max_length=500,
        blank=True,
        default="",
        help_text="Addresses, separated by commas. Webhooks for alert.* get it in any case.",
    )
    enabled = models.BooleanField(default=True)
    raised_at = models.DateTimeField(null=True, editable=False)
    value = models.FloatField(null=True, editable=False)
    unsent = models.JSONField(default=list, editable=False)
    mail_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["workspace", "figure", "threshold", "id"]
        verbose_name = "alert"
        constraints = [
            one_of("figure", HealthFigure.values, name="alert_figure_known"),
            one_of("comparison", Comparison.values, name="alert_comparison_known"),
        ]

    def __str__(self) -> str:
        figure = HealthFigure(self.figure).label
        return f"{figure} {self.comparison} {self.threshold.normalize():f}"
