"""URL patterns of a workspace's pages."""

from __future__ import annotations

from typing import Any

from django.urls import path

from heartbit_site.web import pages
from heartbit_site.web.account import account, credentials
from heartbit_site.web.connect import connect
from heartbit_site.web.find import find
from heartbit_site.web.runs import runs
from heartbit_site.web.usage import usage

app_name = "web"

urlpatterns: list[Any] = [
    path("account/", account, name="account"),
    path("chat/", pages.chat, name="chat"),
    path("chat/<slug:agent>/", pages.chat, name="chat-agent"),
    path("chat/<slug:agent>/<uuid:conversation>/", pages.conversation, name="conversation"),
    path("connect/<slug:server>/", connect, name="connect"),
    path("credentials/", credentials, name="credentials"),
    path("fleet/", pages.fleet, name="fleet"),
    path("usage/", usage, name="usage"),
    path("approvals/", pages.approvals, name="approvals"),
    path("passages/<int:passage>/", pages.passage, name="passage"),
    path("runs/", runs, name="runs"),
    path("runs/<uuid:run>/", pages.run, name="run"),
    path("runs/<uuid:run>/drawing/", pages.drawing, name="drawing"),
    path("find/", find, name="find"),
]
