"""The web process's ASGI application: HTTP to Django, WebSockets to the consumers."""

from __future__ import annotations

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")

http = get_asgi_application()  # loads the apps, which the consumers need

from agents.routing import websocket_urlpatterns  # noqa: E402
from heartbit_site.api.sockets import Handshake  # noqa: E402
from heartbit_site.celery import app as celery_app  # noqa: E402
from heartbit_site.web_server.bodies import BodyLimits  # noqa: E402

__all__ = ["application", "celery_app"]

application = ProtocolTypeRouter(
    {
        "http": BodyLimits(http, seconds=settings.HEARTBIT_REQUEST_SECONDS),
        "websocket": Handshake(URLRouter(websocket_urlpatterns)),
    }
)
