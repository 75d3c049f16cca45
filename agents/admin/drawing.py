"""Drawings of workflows' graphs on the admin's pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from agents.models import Agent
from agents.reads.drawings import drawn, drawn_beside
from agents.workflows.drawing.outline import DrawingTooLargeError


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


def _block(svg: str, name: str) -> SafeString:
    return format_html(
        '<div class="hb-drawing" tabindex="0" role="region" aria-label="{}">{}</div>',
        name,
        mark_safe(svg),  # noqa: S308  # its texts are escaped
    )
