"""Steps: a workflow whose nodes name those that they need, as nodes and edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agents.workflows.patterns.expansion import with_pattern

STEPS: Final = "steps"


def with_graph(content: Any) -> Any:
    """Return a workflow's settings with ``nodes`` and ``edges`` in the place of another form.

    The other forms are ``steps``, and the tables of patterns (``agents.workflows.patterns``).

    A step without ``needs`` is sent the input, unless another one names it as the handler of its
    errors; one that needs a step is the target of a direct edge and one that needs several the
    target of a fan-in. Settings without ``steps``, or which are no
    table at all, are returned unchanged: they are checked elsewhere.

    Args:
        content: Settings as they were written: of ``[[workflows]]``, of a form, of a builder.

    Raises:
        ValueError: The settings have both forms, or a step's ``needs`` is no list of names.
    """
    content = with_pattern(content)
    if not isinstance(content, Mapping) or STEPS not in content:
        return content
    for name in ("nodes", "edges", "start"):
        if content.get(name):
            raise ValueError(f"has both steps and {name}; write one form")
    steps = content[STEPS]
    if not isinstance(steps, Mapping) or not all(isinstance(one, dict) for one in steps.values()):
        raise ValueError("has steps that are no table of tables; write [workflows.steps.NAME]")
    needs = {name: _needs(name, step) for name, step in steps.items()}
    handlers = {str(step.get("on_error")) for step in steps.values()}
    rest = {name: value for name, value in content.items() if name != STEPS}
    return {
        "order": "ready",
        **rest,
        "nodes": [
            {"name": name, **{key: value for key, value in step.items() if key != "needs"}}
            for name, step in steps.items()
        ],
        "edges": [_edge(name, sources) for name, sources in needs.items() if sources],
        "start": [name for name, sources in needs.items() if not sources and name not in handlers],
    }


def _needs(name: str, step: Mapping[str, Any]) -> list[str]:
    needs = step.get("needs", [])
    needs = [needs] if isinstance(needs, str) else needs
    if not isinstance(needs, list) or not all(isinstance(one, str) for one in needs):
        raise ValueError(f'has a step "{name}" whose needs is no list of names of steps')
    return list(dict.fromkeys(needs))


def _edge(name: str, sources: list[str]) -> dict[str, Any]:
    return {"from": sources[0] if len(sources) == 1 else sources, "to": name}
