"""Live regions: parts of a page, a work page or the admin's, that follow what happens.

A template marks them::

    {% load shell %}{% live "rows" "runs calls" %}...{% endlive %}

When the page's socket names one of the kinds (``agents.live.changes``), the page is asked for again
with the header ``Heartbit-Live``; the answer holds its regions alone, and nothing if they are as
the page knows them. The page's script (``static/heartbit/web/live.js``) works the changes in.
"""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from django.http import HttpResponse, HttpResponseNotModified
from django.utils.deprecation import MiddlewareMixin

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

#: Sent by the script with each of its requests.
HEADER: Final = "Heartbit-Live"
#: Likewise: ``data-drawn`` of the page.
OPENED: Final = "Heartbit-Opened"
#: Key of ``request.META``: when a page began to be drawn, in milliseconds since 1970.
DRAWN_AT: Final = "heartbit_drawn_at"


def messages(request: HttpRequest) -> dict[str, Any]:
    """Context processor: keep Django's messages for a page that a person opens and reads."""
    return {"messages": ()} if HEADER in request.headers else {}


def drawn_at(request: HttpRequest) -> int:
    """Return when the page began to be drawn, in milliseconds since 1970."""
    drawn: int = request.META.setdefault(DRAWN_AT, time.time_ns() // 1_000_000)
    return drawn


def opened_at(request: HttpRequest) -> datetime:
    """Return when the page was opened whose regions are asked for; now for a page that opens."""
    said = request.headers.get(OPENED, "")
    ms = int(said) if said.isdecimal() and len(said) < 15 else drawn_at(request)
    return datetime.fromtimestamp(ms / 1000, UTC)


def add_region(request: HttpRequest, markup: str) -> None:
    """Keep a region of the page that is being drawn."""
    known: list[str] = request.META.setdefault("heartbit_regions", [])
    known.append(markup)


class LiveRegions(MiddlewareMixin):
    """Answer a request with the header by the page's regions alone."""

    def process_request(self, request: HttpRequest) -> None:
        """Note the time, before anything is read: the page's socket is asked what changed since."""
        drawn_at(request)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Cut the page down to its regions."""
        regions: list[str] | None = request.META.get("heartbit_regions")
        if HEADER not in request.headers or regions is None or response.status_code != 200:
            return response
        body = "".join(regions).encode()
        tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        same = request.headers[HEADER] == tag
        short = HttpResponseNotModified() if same else HttpResponse(body)
        short["Heartbit-Tag"] = tag
        short["Cache-Control"] = "no-store"
        return short
