"""Forget the tools that were discovered; added by ``HEARTBIT_EXTRA_APPS``."""

from __future__ import annotations

from django.apps import AppConfig


class WithoutToolsConfig(AppConfig):
    """Label ``without_tools``; apps of an installation are ready before it."""

    name = "tests.without_tools"

    def ready(self) -> None:
        """Empty the registry."""
        from tools.definitions.registry import registry

        registry.clear()
