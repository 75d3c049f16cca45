"""A tool's definition as lines that a person can compare, and the difference of two."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from heartbit_site.base.line_diff import line_diff
from heartbit_site.base.visible_text import readable_json, visible

if TYPE_CHECKING:
    from tools.models import ToolDefinition


def as_lines(definition: ToolDefinition) -> list[str]:
    """Return effect, request, description and schema as lines, hidden characters made visible."""
    request = [] if definition.request is None else readable_json(definition.request).splitlines()
    return [
        f"effect: {definition.effect.replace('_', ' ')}",
        *(f"request: {line}" for line in request),
        *visible(definition.description).splitlines(),
        *readable_json(json.loads(definition.parameters)).splitlines(),
    ]


def difference(before: ToolDefinition, after: ToolDefinition) -> list[str]:
    """Return the lines of a unified diff of two definitions, without its head."""
    return line_diff(as_lines(before), as_lines(after), context=2)
