"""`heartbit web`: the web process."""

from __future__ import annotations

from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.cli.installation.startup import ensure_ready, kept
from heartbit_site.cli.options import common
from heartbit_site.cli.options.address import check_port
from heartbit_site.cli.terminal.errors import OK

PORT = common.option(
    "", "Listen on this port; 0: any free one, which is logged.", 8000, min=0, max=65535
)
BIND = common.option("ADDRESS", "Listen on this address.", "127.0.0.1")
GRACE = common.option("SECONDS", "Wait for open requests so long at the end.", 8, min=0)


def web(
    *,
    port: int = PORT,
    bind: str = BIND,
    grace: int = GRACE,
    loglevel: common.LogLevel = common.LOG_LEVEL,
) -> int:
    """Serve the web pages, the admin and the API.

    It starts neither workers nor beat: see `heartbit serve` and `heartbit beat`, or `heartbit up`
    for everything at once.
    """
    check_port(bind, port)
    ensure_ready(waits=True)
    from django.conf import settings
    from django.db import connections

    from heartbit_site.web_server.serve import serve

    log_to_stderr(loglevel.upper(), force=True)
    connections.close_all()  # the server's threads have connections of their own
    with kept(settings.ENVIRONMENT):
        serve(bind=bind, port=port, graceful_seconds=grace, log_level=loglevel)
    return OK
