"""App of the tool registry and the invocation pipeline."""

from __future__ import annotations

from django.apps import AppConfig


class ToolsConfig(AppConfig):
    """Label ``tools``."""

    name = "tools"

    def ready(self) -> None:
        """Register the tools of the installation, unless discovery was postponed."""
        from tools import discovery

        if not discovery.is_postponed():
            discovery.discover()
