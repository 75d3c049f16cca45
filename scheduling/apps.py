"""What happens by the clock: people's schedules, and housekeeping on Celery Beat."""

from __future__ import annotations

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Label ``scheduling``."""

    name = "scheduling"
    verbose_name = "Schedules"
