"""App of schedules and of Celery Beat's housekeeping."""

from __future__ import annotations

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Label ``scheduling``."""

    name = "scheduling"
    verbose_name = "Schedules"
