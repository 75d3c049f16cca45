"""What happens by the clock: housekeeping on Celery Beat."""

from __future__ import annotations

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Label ``scheduling``."""

    name = "scheduling"
