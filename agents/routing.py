"""URL patterns of the WebSockets."""

from __future__ import annotations

from typing import Any

from channels.consumer import AsyncConsumer
from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from agents.consumers import AdminConsumer, EventConsumer, RunConsumer, WorkspaceConsumer


def _socket(route: str, consumer: type[AsyncConsumer], pattern: Any = path) -> Any:
    application: Any = consumer.as_asgi()  # Django's types allow only views
    return pattern(route, application)


websocket_urlpatterns: list[Any] = [
    _socket("ws/", AdminConsumer),
    _socket("ws/<slug:workspace>/", WorkspaceConsumer),
    _socket("ws/<slug:workspace>/events/", EventConsumer),
    _socket("ws/<slug:workspace>/runs/<uuid:run>/", RunConsumer),
    # Channels would raise an error for any other path, which anybody may ask for.
    _socket("", WebsocketDenier, re_path),
]
