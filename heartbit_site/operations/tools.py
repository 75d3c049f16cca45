"""Tools that agents can be given."""

from __future__ import annotations

from heartbit_site.base.access import Access
from heartbit_site.base.toolspec import ToolSpec
from heartbit_site.contract.model import USUAL, Cursor, Limit
from heartbit_site.contract.tools import ToolOut, ToolsOut
from heartbit_site.operations.paging import page_of
from tools.catalogue import catalogue
from tools.registry import definition_hash, registry


def list_tools(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> ToolsOut:
    """Return the tools that the workspace's agents can be given, by name."""
    found, following = page_of(catalogue(access.workspace.pk), str, cursor, limit)
    return ToolsOut(tools=[_view(spec) for spec in found], next_cursor=following)


def installed_tools() -> ToolsOut:
    """Return the tools that this process has, by name; the database is not asked."""
    return ToolsOut(tools=[_view(registry[name]) for name in sorted(registry)], next_cursor=None)


def _view(spec: ToolSpec) -> ToolOut:
    more = {} if registry.get(spec.name) is spec else {"timeout_seconds": None}
    return ToolOut.of(
        spec,
        hash=definition_hash(spec),
        answered_by_person=spec.answer_parameter is not None,
        **more,
    )
