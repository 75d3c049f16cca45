"""The inbox of tool calls that wait for a person, across all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.web.page import page, show

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from heartbit_site.base.access import Access


@page("runs:read")
def inbox(request: HttpRequest, access: Access) -> HttpResponse:
    """Show the pending calls of the workspace."""
    return show(request, access, "web/approvals.html", here="approvals")
