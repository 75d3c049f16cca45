"""Discovery of the executors and workflows in the modules of apps and packages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.registry import ExecutorRegistry

#: Name of the modules in apps, and group of the entry points of packages.
MODULE: Final = "agent_workflows"
GROUP: Final = "heartbit.workflows"


def discover(values: Iterable[object], registry: ExecutorRegistry) -> list[Workflow]:
    """Return the workflows of a module, unchecked, and register its executors.

    Executors that a workflow takes from another module are registered, too.

    Args:
        values: Values of the module.
        registry: The registry.

    Raises:
        ConfigurationError: Two executors have one name.
    """
    found = list(values)
    registry.add_all(found)
    workflows = list(dict.fromkeys(one for one in found if isinstance(one, Workflow)))
    for workflow in workflows:
        for executor in workflow.executors.values():
            registry.add(executor)
    return workflows
