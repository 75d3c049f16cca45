"""The fleet: workers and queues as they are now, for the operators of the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.web.page import page, show

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from heartbit_site.base.access import Access


@page("fleet:manage")
def fleet(request: HttpRequest, access: Access) -> HttpResponse:
    """Workers, queues, and what stops them."""
    return show(request, access, "web/fleet.html", here="fleet")
