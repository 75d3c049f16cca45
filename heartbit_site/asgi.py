"""The web process's ASGI application: HTTP to Django, WebSockets to the consumers."""

from __future__ import annotations

import gc
import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from servestatic import utils as servestatic

from agents.llm.environment import check_environment
from heartbit_site.extra_apps import load_apps
from heartbit_site.refusal import refusal

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")

#: Bytes of a static file that are read at once: each read is a task of another thread, and the
#: largest file would have forty of them.
servestatic.ASGI_BLOCK_SIZE = 1 << 20

with refusal():
    load_apps()  # which the consumers need
    check_environment(os.environ)
http = get_asgi_application()

from agents.routing import websocket_urlpatterns  # noqa: E402
from heartbit_site.api.programs import ProgramRequests  # noqa: E402
from heartbit_site.api.sockets import Handshake  # noqa: E402
from heartbit_site.celery import app as celery_app  # noqa: E402
from heartbit_site.doors.mcp.http import McpRequests  # noqa: E402
from heartbit_site.web_server.bodies import BodyLimits  # noqa: E402
from heartbit_site.web_server.request_spans import RequestSpans  # noqa: E402
from heartbit_site.web_server.threads import LentThreads  # noqa: E402

__all__ = ["application", "celery_app"]

application = ProtocolTypeRouter(
    {
        "http": RequestSpans(
            BodyLimits(
                McpRequests(ProgramRequests(LentThreads(http))),
                seconds=settings.HEARTBIT_REQUEST_SECONDS,
            )
        ),
        "websocket": Handshake(URLRouter(websocket_urlpatterns)),
    }
)

gc.freeze()  # objects of the start-up stay
