"""Starts copying in every process that has the app."""

from __future__ import annotations

import os

from django.apps import AppConfig
from django.conf import settings

from tests.chaos.copies import copier


class CopiesConfig(AppConfig):
    """The app; ``CHAOS_COPIES_SECONDS`` says within which time copies follow."""

    name = "tests.chaos.copies"
    label = "chaos_copies"

    def ready(self) -> None:
        """Install the copier."""
        copier.install(settings.REDIS_URL, longest=float(os.environ["CHAOS_COPIES_SECONDS"]))
