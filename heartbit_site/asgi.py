"""The web process's ASGI application: HTTP to Django, WebSockets to the consumers."""

from __future__ import annotations

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")

http = get_asgi_application()  # loads the apps, which the consumers need

from agents.routing import websocket_urlpatterns  # noqa: E402
from heartbit_site.celery import app as celery_app  # noqa: E402

__all__ = ["application", "celery_app"]

application = ProtocolTypeRouter(
    {
        "http": http,
        # A page of another site may open a socket to here, and the browser sends the cookie: only
        # those of our own hosts get one.
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
        ),
    }
)
