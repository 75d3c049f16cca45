"""Tools that agents can be given."""

from __future__ import annotations

from heartbit_site.base.access import Access
from heartbit_site.contract.model import USUAL, Cursor, Limit
from heartbit_site.contract.tools import ToolOut, ToolsOut
from heartbit_site.operations.paging import page_of
from tools.catalogue import catalogue


def list_tools(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> ToolsOut:
    """Return the tools that the installation has, by name."""
    found, following = page_of(catalogue(access.workspace.pk), str, cursor, limit)
    return ToolsOut(tools=[ToolOut.of(spec) for spec in found], next_cursor=following)
