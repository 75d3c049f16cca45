"""Routes of the pages."""

from __future__ import annotations

from typing import Any

from django.urls import path

from heartbit_site.web import approvals, chat, fleet, runs, usage

app_name = "web"

urlpatterns: list[Any] = [
    path("chat/", chat.start, name="chat"),
    path("chat/<slug:agent>/", chat.start, name="chat-agent"),
    path("chat/<slug:agent>/<uuid:conversation>/", chat.conversation, name="conversation"),
    path("fleet/", fleet.fleet, name="fleet"),
    path("usage/", usage.usage, name="usage"),
    path("approvals/", approvals.inbox, name="approvals"),
    path("runs/", runs.listing, name="runs"),
    path("runs/<uuid:run>/", runs.detail, name="run"),
]
