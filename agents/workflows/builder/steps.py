"""Builder of step workflows: each step names those that it needs.

Usage::

    report = steps(
        "report",
        step("find", agent="researcher", task="Facts on {{ input.topic }}"),
        step("sales", tool="query_sales", on_error="continue"),
        step("write", agent="writer", needs=["find", "sales"], task="{{ steps.find.output }}"),
        max_parallel=4,
    )
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agents.workflows.builder.workflow import NodeLike, Workflow
from agents.workflows.spec.steps import STEPS, with_graph
from heartbit_site.base.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Step:
    """A step with the steps that it needs."""

    node: NodeLike
    needs: tuple[NodeLike, ...]
    settings: dict[str, Any]


def step(node: NodeLike, *, needs: NodeLike | Iterable[NodeLike] = (), **settings: Any) -> Step:
    """Return a step.

    Args:
        node: Its name, or a function marked with ``@executor``.
        needs: Steps that end before it begins.
        settings: Settings of the node (``agents.workflows.spec.node.NodeSpec``).
    """
    needed = (needs,) if isinstance(needs, str) or callable(needs) else tuple(needs)
    return Step(node, needed, settings)


def steps(
    name: str,
    *parts: Step,
    input: Any = None,
    max_parallel: int | None = None,
    timeout_seconds: float | None = None,
    **settings: Any,
) -> Workflow:
    """Return a workflow of steps.

    Args:
        name: Name of the workflow.
        parts: The steps, in the order of their results.
        input: Type or JSON Schema of its input; None: any.
        max_parallel: Steps at the same time.
        timeout_seconds: Time limit of one run.
        settings: Other settings of a workflow.

    Raises:
        ConfigurationError: Two steps have one name.
    """
    built = Workflow(name, input=input, **{"order": "ready"} | settings)
    given = {"max_parallel": max_parallel, "timeout_seconds": timeout_seconds}
    built.limit(**{limit: value for limit, value in given.items() if value is not None})
    table: dict[str, dict[str, Any]] = {}
    for part in parts:
        if (key := built.name_of(part.node)) in table:
            raise ConfigurationError(
                f"The workflow {name!r} has two steps {part.node!r}: rename one of them."
            )
        built.node(key, **part.settings)
        table[key] = part.settings
    for part in parts:
        needs = [built.name_of(node) for node in part.needs]
        table[built.name_of(part.node)] = part.settings | {"needs": needs}
    return built.extend(with_graph({STEPS: table}) | {"nodes": [], "state": {}})
