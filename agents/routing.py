"""URL patterns of the WebSockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path

from agents.consumers import AdminConsumer, RunConsumer, WorkspaceConsumer

if TYPE_CHECKING:
    from agents.live.member_consumer import MemberConsumer


def _socket(route: str, consumer: type[MemberConsumer]) -> Any:
    application: Any = consumer.as_asgi()  # Django's types allow only views
    return path(route, application)


websocket_urlpatterns: list[Any] = [
    _socket("ws/", AdminConsumer),
    _socket("ws/<slug:workspace>/", WorkspaceConsumer),
    _socket("ws/<slug:workspace>/runs/<uuid:run>/", RunConsumer),
]
