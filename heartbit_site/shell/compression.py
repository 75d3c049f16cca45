"""Compressed answers, but for streams, whose parts must arrive as they are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.middleware.gzip import GZipMiddleware

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase


#: Bytes that one packet takes anyway.
SHORT: Final = 1400


class CompressedPages(GZipMiddleware):
    """Django's compression of whole answers; a random length keeps them from being guessed."""

    def process_response(self, request: HttpRequest, response: Any) -> HttpResponseBase:
        """Compress a long answer that is not a stream."""
        is_left = response.streaming or len(response.content) < SHORT
        found: HttpResponseBase = (
            response if is_left else super().process_response(request, response)
        )
        return found
