"""App of the tool registry and the invocation pipeline."""

from __future__ import annotations

import sys

from django.apps import AppConfig, apps
from django.utils.module_loading import autodiscover_modules


class ToolsConfig(AppConfig):
    """Label ``tools``."""

    name = "tools"

    def ready(self) -> None:
        """Register the tools in every app's ``agent_tools``, then those of packages."""
        from tools.packages import packaged_tools
        from tools.registry import registry

        autodiscover_modules("agent_tools")
        names = (f"{app.name}.agent_tools" for app in apps.get_app_configs())
        registry.discover(sys.modules[name] for name in names if name in sys.modules)
        for spec in packaged_tools():
            registry.register(spec)
