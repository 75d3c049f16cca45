"""The alert rules between two evaluations."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class AlertState(models.Model):
    """State of the alert rules (``heartbit_site.monitoring.alerts``); its only row has the id 1.

    Attributes:
        evaluated_at: Time of the last evaluation; null: none yet.
        alerts: By rule and labels: ``since``, and once raised ``raised_at`` and ``notified_at``.
        readings: By rule and labels: ``[time, value]`` pairs of its window, oldest first.
        unsent: Sentences to mail.
        mail_at: Time of the next attempt to mail them.
    """

    evaluated_at = models.DateTimeField(null=True)
    alerts = models.JSONField(default=dict)
    readings = models.JSONField(default=dict)
    unsent = models.JSONField(default=list)
    mail_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return "alert rules"
