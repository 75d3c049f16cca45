"""Where the pages are."""

from __future__ import annotations

from typing import Any

from django.urls import path

from heartbit_site.web import runs

app_name = "web"

urlpatterns: list[Any] = [
    path("runs/", runs.listing, name="runs"),
    path("runs/<uuid:run>/", runs.detail, name="run"),
]
