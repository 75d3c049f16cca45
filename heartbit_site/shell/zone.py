"""The reader's time zone: their browser's, which the frame's script writes into a cookie."""

from __future__ import annotations

import zoneinfo
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

COOKIE: Final = "heartbit_zone"


class ReadersZone(MiddlewareMixin):
    """Show and read times in the reader's zone; UTC until their browser has named it."""

    def process_request(self, request: HttpRequest) -> None:
        """Begin."""
        name = unquote(request.COOKIES.get(COOKIE, ""))[:64]
        try:
            timezone.activate(zoneinfo.ZoneInfo(name))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            timezone.deactivate()

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """End."""
        timezone.deactivate()
        return response
