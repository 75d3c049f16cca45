"""Check of the page that opens a WebSocket with a session: the one that Django makes for forms.

Cookies ignore ports and schemes: a browser sends the session's cookie to a socket of ours from
whatever page of the same host, and a socket is not bound by the rules for reading across origins.
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
        """Return True if a form of the request's ``Origin`` would be accepted."""
        # Not part of Django's promises, but the rule itself: forms and sockets cannot differ.
        return bool(self._origin_verified(request))  # type: ignore[attr-defined]


class OwnPagesOnly:
    """Let a socket in if its ``Origin`` is ours or one of ``HEARTBIT_TRUSTED_ORIGINS``.

    Ours has the scheme, host and port under which the client reaches the server: those of
    ``Host`` and, as configured, of ``X-Forwarded-Proto``. Everything else is refused with 403.

    Args:
        application: Serves the sockets that are let in.
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
