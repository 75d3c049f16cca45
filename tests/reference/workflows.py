"""Settings of workflows: of graphs, nodes and edges."""

from __future__ import annotations

from typing import Final

from agents.workflows.spec.workflow import WorkflowSpec
from tests.reference.models import sections

_HEAD: Final = """# Workflows: nodes and edges

The settings of an entry of `[[workflows]]`; [the guide](../howto/workflows.md) explains them, with the shorter
forms of steps and patterns. A node has exactly one kind of work: `function`, `agent`, `workflow`, `tool`,
`validator`, `code`, `ask`, `pause` or `set`.
"""


def page() -> str:
    """Return the page."""
    return _HEAD + sections({"WorkflowSpec": WorkflowSpec})
