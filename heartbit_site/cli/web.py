"""The web process of the command line: embedded services are kept running beside it."""

from __future__ import annotations

from django.conf import settings
from django.db import connections

from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.cli.services import kept
from heartbit_site.web_server import serve as web_server


def serve(*, bind: str, port: int, grace_seconds: int, loglevel: str) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    log_to_stderr(loglevel.upper(), force=True)
    connections.close_all()  # the server's threads have connections of their own
    with kept(settings.ENVIRONMENT):
        web_server.serve(bind=bind, port=port, graceful_seconds=grace_seconds, log_level=loglevel)
