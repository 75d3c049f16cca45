"""The web process's ASGI application."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from heartbit_site.celery import app as celery_app

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")

__all__ = ["application", "celery_app"]

application = get_asgi_application()
