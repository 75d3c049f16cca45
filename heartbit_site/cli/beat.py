"""Celery Beat in this process, with the application's scheduler."""

from __future__ import annotations

from django.conf import settings

from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.celery import app
from heartbit_site.cli.services import kept


def beat(*, loglevel: str) -> None:
    """Send periodic tasks until SIGTERM or Ctrl-C."""
    log_to_stderr(loglevel.upper(), force=True)  # else Celery does, and raw
    with kept(settings.ENVIRONMENT):
        app.Beat(loglevel=loglevel.upper(), quiet=True).run()
