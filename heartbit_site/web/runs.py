"""The list of runs, and one run as it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404

from agents.errors import RunNotFoundError
from agents.querysets import find_run
from heartbit_site.web.page import page, show

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse

    from heartbit_site.base.access import Access


@page("runs:read")
def listing(request: HttpRequest, access: Access) -> HttpResponse:
    """Show the runs of the workspace."""
    return show(request, access, "web/runs.html", here="runs")


@page("runs:read")
def detail(request: HttpRequest, access: Access, run: UUID) -> HttpResponse:
    """Show one run."""
    try:
        found = find_run(access.workspace, run)
    except RunNotFoundError as error:
        raise Http404(str(error)) from error
    return show(request, access, "web/run.html", {"run": found}, here="runs")
