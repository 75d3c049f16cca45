"""Discovery of the tools of an installation: in its apps' ``agent_tools``, and in packages.

It imports the code of every tool. A command that only reads what is stored postpones it.
"""

from __future__ import annotations

import sys

from django.apps import apps
from django.utils.module_loading import autodiscover_modules

_postponed = False


def postpone() -> None:
    """Leave the registry empty when Django starts, until ``discover`` is called."""
    global _postponed
    _postponed = True


def is_postponed() -> bool:
    """Return True while this process does not know the installation's tools."""
    return _postponed


def discover() -> None:
    """Register the tools in every app's ``agent_tools``, then those of packages.

    Further calls change nothing.

    Raises:
        ConfigurationError: Two tools have one name, or one cannot be used.
    """
    global _postponed
    # Slow to import, for the processes that know the tools.
    from tools.definitions.packages import packaged_tools  # noqa: PLC0415
    from tools.definitions.registry import registry  # noqa: PLC0415

    autodiscover_modules("agent_tools")
    names = (f"{app.name}.agent_tools" for app in apps.get_app_configs())
    registry.discover(sys.modules[name] for name in names if name in sys.modules)
    for spec in packaged_tools():
        registry.register(spec)
    _postponed = False
