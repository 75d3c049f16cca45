"""Health of the providers' keys that the processes have in their environment."""

from __future__ import annotations

from django.db import models


class EnvironmentKey(models.Model):
    """The last check of a provider's key in the environment; the key itself is stored nowhere.

    Attributes:
        provider: Name in the provider table of the agents app.
        variable: Name of the environment variable that holds the key.
        latency_ms: Time of the check in milliseconds; null: nothing was sent.
    """

    provider = models.CharField(max_length=40, unique=True)
    variable = models.CharField(max_length=80)
    healthy = models.BooleanField(null=True)
    health_message = models.TextField(blank=True)
    latency_ms = models.PositiveIntegerField(null=True)
    checked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["provider"]

    def __str__(self) -> str:
        return f"{self.provider} ({self.variable})"
