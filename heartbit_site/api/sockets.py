"""Authentication of sockets: a page with its session, or a program with an API key.

A key is sent as to the API, in ``Authorization: Bearer hb_...`` of the handshake, and is looked up
and counted by the same code. It is never read from the URL, because URLs are logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

from channels.auth import AuthMiddlewareStack
from channels.security.websocket import WebsocketDenier
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponseForbidden
from django.middleware.csrf import CsrfViewMiddleware

from agents.live.member_consumer import RATE_LIMITED, UNKNOWN
from heartbit_site.api.auth import key_in, opened_by
from heartbit_site.api.errors import TooManyRequestsError, UnauthorizedError
from heartbit_site.base import orm
from heartbit_site.base.access import Access

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


class Handshake:
    """Authentication before the consumers.

    With a key no cookie counts, also when the key opens nothing, and no ``Origin`` is asked for:
    that one guards against a page of another site in a logged-in person's browser, and
    no page can set this header. Without a key the session's cookie counts, from our own pages alone
    (``origin.OwnPagesOnly``).

    Args:
        consumers: Serve the sockets (``agents.live.member_consumer``). Their
            ``scope["opened"]`` has the access of a key, or the code to close with.
    """

    def __init__(self, consumers: Any) -> None:
        self._consumers = consumers
        self._pages = OwnPagesOnly(AuthMiddlewareStack(consumers))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one socket."""
        key = key_in(_authorization(scope))
        if key is None:
            await self._pages(scope, receive, send)
            return
        address = (scope.get("client") or ("",))[0]
        opened = await orm.run_in_thread(lambda: _opened(key, address))
        await self._consumers({**scope, "opened": opened}, receive, send)


def _authorization(scope: Mapping[str, Any]) -> str:
    """Return the header as Django reads it for the API; several of them authenticate no one."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    return b",".join(found).decode("latin-1")


def _opened(key: str, address: str) -> Access | int:
    try:
        return opened_by(key, address=address)
    except UnauthorizedError:
        return UNKNOWN
    except TooManyRequestsError:
        return RATE_LIMITED
