"""Start of uvicorn, and the only list of its options.

Every web process starts through ``serve``: ``heartbit web``, and so ``heartbit up``, the container
and the systemd unit::

    serve(bind="127.0.0.1", port=8000)
    uvicorn.Config(**options(bind="127.0.0.1", port=0))
"""

from __future__ import annotations

import importlib
import os
import resource
from typing import Any, Final

import uvicorn
from django.conf import settings

from heartbit_site.base.log_output import LINE, make_formatter
from heartbit_site.base.process_memory import collect_seldom

PROTOCOL: Final = "heartbit_site.web_server.connection:BoundedProtocol"
#: A page only sends requests for events.
SOCKET_BYTES: Final = 65_536
#: Seconds that open requests and streams have to end when the process stops.
GRACEFUL_SECONDS: Final = 8
#: Uvicorn's format, cleaned: exceptions contain text of users and models.
LOGGING: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": make_formatter, "fmt": LINE}},
    "handlers": {
        "stderr": {
            "class": "heartbit_site.base.log_output.OutageHandler",
            "formatter": "line",
        }
    },
    "loggers": {"uvicorn": {"handlers": ["stderr"], "level": "INFO", "propagate": False}},
}
MOST_CONNECTIONS: Final = 10_000


def options(
    *,
    bind: str,
    port: int,
    graceful_seconds: int = GRACEFUL_SECONDS,
    log_level: str = "warning",
) -> dict[str, Any]:
    """Return the keyword arguments of ``uvicorn.Config``; reads Django's settings.

    Args:
        bind: The address to listen at.
        port: The port; 0: any free one, logged at the level info.
        graceful_seconds: Time for requests to end after SIGTERM.
        log_level: Lowest level that is logged, such as ``info``.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")
    proxies = settings.HEARTBIT_TRUSTED_PROXIES
    return {
        "app": ":".join(settings.ASGI_APPLICATION.rsplit(".", 1)),
        "host": bind,
        "port": port,
        "http": PROTOCOL,
        "lifespan": "off",
        "log_level": log_level,
        "log_config": LOGGING,
        "access_log": False,
        "timeout_graceful_shutdown": graceful_seconds,
        "ws_max_size": SOCKET_BYTES,
        # A page's messages are small and many: compression costs more than it saves.
        "ws_per_message_deflate": False,
        # Explicit, since uvicorn would trust every client on this machine.
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": list(proxies),
        "limit_concurrency": most_connections(),
    }


def serve(*, bind: str, port: int, **more: Any) -> None:
    """Serve until SIGINT or SIGTERM, with ``options``."""
    _raise_open_files()
    collect_seldom()
    uvicorn.run(**options(bind=bind, port=port, **more))
    traces = importlib.import_module("agents.tracing.runs")  # needs Django, which uvicorn loads
    traces.flush()


def _raise_open_files() -> None:
    """Allow as many open files as the connections need, if the hard limit does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS if hard < 0 else min(2 * MOST_CONNECTIONS, hard)
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """Return the maximum of open connections: half of the files that the process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft < 0 else max(1, min(MOST_CONNECTIONS, soft // 2))
