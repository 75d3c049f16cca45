"""Tools that an installation has without apps or servers of its own."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.toolspec import Origin
from tests.reference.markdown import properties
from tools.definitions.registry import registry

_HEAD: Final = """# Tools

Tools of every installation. Your own functions ([tools](../howto/tools.md)), [MCP servers](../howto/mcp.md) and
[APIs](../howto/openapi.md) bring more, and `heartbit tools list` shows a workspace's. The effect says what may
happen when a call is repeated; labels say how a call's data flows
([mixed data](../howto/approvals.md)).
"""


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for name, spec in sorted(registry.items()):
        if spec.origin is not Origin.CODE or not _is_ours(spec.function):
            continue
        labels = ", ".join(f"`{one}`" for one in sorted(spec.labels)) or "none"
        parts.append(f"\n## {name}\n\n{spec.description.strip()}\n")
        parts.append(f"\nEffect: `{spec.effect}`. Labels: {labels}.\n")
        if spec.parameters.get("properties"):
            parts.append("\n" + properties(spec.parameters))
    return "".join(parts)


def _is_ours(function: object) -> bool:
    module = getattr(function, "__module__", "") or type(function).__module__
    return not module.startswith("tests.")
