"""Entries of the sidebar that a user sees; the theme's settings call this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import apps
from django.contrib import admin

if TYPE_CHECKING:
    from django.http import HttpRequest


def sees(request: HttpRequest, model: str) -> bool:
    """Return True if the user may see the list of a model (``app.name``)."""
    page = admin.site._registry.get(apps.get_model(model))
    return page is not None and page.has_view_permission(request)
