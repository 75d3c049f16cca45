"""Executors of workflows that an installation offers: in its apps' ``agent_workflows``."""

from __future__ import annotations

import functools
import sys

from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from agents.workflows.executors.registry import ExecutorRegistry


@functools.cache
def installed_executors() -> ExecutorRegistry:
    """Return the executors in every app's ``agent_workflows``.

    Raises:
        ConfigurationError: Two executors have one name.
    """
    autodiscover_modules("agent_workflows")
    registry = ExecutorRegistry()
    for app in apps.get_app_configs():
        module = sys.modules.get(f"{app.name}.agent_workflows")
        if module is not None:
            registry.add_all(vars(module).values())
    return registry
