"""Discovery of the executors and workflows in the modules of apps and packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.registry import ExecutorRegistry

#: Name of the modules in apps, and group of the entry points of packages.
MODULE: Final = "agent_workflows"
GROUP: Final = "heartbit.workflows"


def workflows_in(values: Iterable[object]) -> Iterator[Workflow]:
    """Yield the workflows among the values of a module, each once."""
    seen: set[int] = set()
    for value in values:
        if isinstance(value, Workflow) and id(value) not in seen:
            seen.add(id(value))
            yield value


def discover(values: Iterable[object], registry: ExecutorRegistry) -> list[Workflow]:
    """Return the workflows of a module, and register its executors.

    Executors that a workflow takes from another module are registered, too.

    Args:
        values: Values of the module.
        registry: The registry.

    Raises:
        ConfigurationError: Two executors have one name, or a workflow has faults.
    """
    found = list(values)
    registry.add_all(found)
    workflows = list(workflows_in(found))
    for workflow in workflows:
        for executor in workflow.executors.values():
            registry.add(executor)
        workflow.check()
    return workflows
