"""Check of the page that opens a WebSocket with a session, like Django's check of forms.

Cookies ignore ports and schemes: a browser sends the session's cookie to a socket from any page of
the same host, and sockets are exempt from the same-origin policy.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

from channels.security.websocket import WebsocketDenier
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponseForbidden
from django.middleware.csrf import CsrfViewMiddleware

_SCHEMES: Final = {"ws": "http", "wss": "https"}


class _Forms(CsrfViewMiddleware):
    def accepts(self, request: ASGIRequest) -> bool:
        """Return True if Django would accept a form from the request's ``Origin``."""
        # Not part of Django's promises, but the rule itself: forms and sockets cannot differ.
        return bool(self._origin_verified(request))  # type: ignore[attr-defined]


class OwnPagesOnly:
    """Accept a socket if its ``Origin`` is the server's or one of ``HEARTBIT_TRUSTED_ORIGINS``.

    The server's has the scheme, host and port under which the client reaches it: those of ``Host``
    and, as configured, of ``X-Forwarded-Proto``. Everything else is refused with 403.

    Args:
        application: Serves the accepted sockets.
    """

    def __init__(self, application: Any) -> None:
        self._application = application
        self._refusal: Any = WebsocketDenier()
        self._forms = _Forms(lambda _: HttpResponseForbidden())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one socket."""
        serve = self._application if self._is_own(scope) else self._refusal
        await serve(scope, receive, send)

    def _is_own(self, scope: Any) -> bool:
        scheme = _SCHEMES[scope.get("scheme", "ws")]
        request = ASGIRequest({**scope, "method": "GET", "scheme": scheme}, BytesIO())
        try:
            request.get_host()
        except DisallowedHost:
            return False
        return "HTTP_ORIGIN" in request.META and self._forms.accepts(request)
