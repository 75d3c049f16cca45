"""Drawings and texts of workflows' graphs on the admin's pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from agents.models import Agent
from agents.reads.drawings import drawn, drawn_beside
from agents.workflows.drawing.outline import DrawingTooLargeError
from agents.workflows.spec.edge import EdgeSpec
from agents.workflows.spec.node import NodeSpec
from heartbit_site.admin.themed import pretty_json
from heartbit_site.base.spec import Spec

#: Settings that are drawn.
GRAPH: Final = ("start", "nodes", "edges")


def drawing_block(agent: Agent) -> str:
    """Return the drawing of a workflow's current version, or why there is none."""
    version = agent.current_version
    if version is None:
        return "It was never published."
    try:
        return _block(drawn(version.snapshot), f"Graph of v{version.number}")
    except DrawingTooLargeError as error:
        return str(error)


def drawings_beside(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[SafeString]:
    """Return the drawings of two snapshots; none if they have no graphs or are too large."""
    try:
        found = drawn_beside(before, after) or ()
    except DrawingTooLargeError:
        return []
    names = ("Graph before", "Graph after")
    return [_block(svg, name) for svg, name in zip(found, names, strict=False)]


def graph_text(table: Mapping[str, Any]) -> str:
    """Return the nodes and edges of a workflow as JSON for people to read."""
    return pretty_json({name: in_order(name, table[name]) for name in GRAPH if table.get(name)})


def in_order(setting: str, value: Any) -> Any:
    """Return nodes and edges with their keys in the order of the documentation."""
    parts: dict[str, type[Spec]] = {"nodes": NodeSpec, "edges": EdgeSpec}
    part = parts.get(setting)
    if part is None:
        return value
    order = {field.alias or name: at for at, (name, field) in enumerate(part.model_fields.items())}
    return [dict(sorted(one.items(), key=lambda item: order.get(item[0], 0))) for one in value]


def _block(svg: str, name: str) -> SafeString:
    return format_html(
        '<div class="hb-drawing" tabindex="0" role="region" aria-label="{}">{}</div>',
        name,
        mark_safe(svg),  # noqa: S308  # its texts are escaped
    )
