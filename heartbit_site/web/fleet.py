"""The fleet page: current workers and queues, for the operators of the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.web.page import page, show

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from heartbit_site.base.access import Access


@page("fleet:manage")
def fleet(request: HttpRequest, access: Access) -> HttpResponse:
    """Show workers, queues, and their pauses and stops."""
    return show(request, access, "web/fleet.html", here="fleet")
