"""Arguments of a call in the order in which its installed tool declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.base.argument_order import in_schema_order
from tools.registry import registry

if TYPE_CHECKING:
    from collections.abc import Mapping


def in_tool_order(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in the tool's order; those of a tool that is not installed as they are."""
    return in_schema_order(arguments, registry[tool].parameters if tool in registry else None)
