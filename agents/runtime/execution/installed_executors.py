"""Executors and workflows that an installation offers: in its apps' ``agent_workflows``."""

from __future__ import annotations

import functools
import sys

from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from agents.workflows.builder.discovery import MODULE, discover
from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.registry import ExecutorRegistry
from heartbit_site.base.errors import ConfigurationError


@functools.cache
def installed_executors() -> ExecutorRegistry:
    """Return the executors in every app's ``agent_workflows``.

    Raises:
        ConfigurationError: Two executors have one name.
    """
    return _installed()[0]


def installed_workflows() -> dict[str, Workflow]:
    """Return the workflows that apps build in their ``agent_workflows``, by name.

    Raises:
        ConfigurationError: A workflow has faults, or two have one name.
    """
    found: dict[str, Workflow] = {}
    for workflow in _installed()[1]:
        name = workflow.check().spec.name
        if name in found:
            raise ConfigurationError(f"Two workflows of apps are named {name}: rename one.")
        found[name] = workflow
    return found


def _installed() -> tuple[ExecutorRegistry, list[Workflow]]:
    autodiscover_modules(MODULE)
    modules = [sys.modules.get(f"{app.name}.{MODULE}") for app in apps.get_app_configs()]
    registry = ExecutorRegistry()
    found = [discover(vars(one).values(), registry) for one in modules if one is not None]
    return registry, [workflow for workflows in found for workflow in workflows]
