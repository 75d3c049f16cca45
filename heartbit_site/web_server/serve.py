"""Start uvicorn as every web process of Heartbit runs it.

One list of options for ``heartbit up``, the container, and the tests::

    serve(bind="127.0.0.1", port=8000)
    uvicorn.Config(**options(bind="127.0.0.1", port=0))
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from django.conf import settings

from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

APPLICATION: Final = "heartbit_site.asgi:application"
PROTOCOL: Final = "heartbit_site.web_server.connection:BoundedProtocol"
#: A page sends requests for events, never more.
SOCKET_BYTES: Final = 65_536
GRACEFUL_SECONDS: Final = 3
MOST_CONNECTIONS: Final = 10_000
LOG_LEVELS: Final = ("critical", "error", "warning", "info", "debug")


def options(
    *,
    bind: str,
    port: int,
    graceful_seconds: int = GRACEFUL_SECONDS,
    log_level: str = "warning",
    access_log: bool = False,
) -> dict[str, Any]:
    """Return the keyword arguments of ``uvicorn.Config``; reads Django's settings.

    Args:
        bind: The address to listen at.
        port: The port; 0: any that is free, which the log names at the level info.
        graceful_seconds: Time for requests to end after SIGTERM.
        log_level: One of ``LOG_LEVELS``.
        access_log: Write a line for each request.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")
    proxies = settings.HEARTBIT_TRUSTED_PROXIES
    return {
        "app": APPLICATION,
        "host": bind,
        "port": port,
        "http": PROTOCOL,
        "lifespan": "off",
        "log_level": log_level,
        "access_log": access_log,
        "timeout_graceful_shutdown": graceful_seconds,
        "ws_max_size": SOCKET_BYTES,
        # A page's lines are small and many: to compress each costs more than it saves.
        "ws_per_message_deflate": False,
        # Explicit, since uvicorn would believe whoever connects from this machine.
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": list(proxies),
        "limit_concurrency": most_connections(),
    }


def serve(*, bind: str, port: int, **more: Any) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        bind: The address to listen at.
        port: The port.
        more: As for ``options``.
    """
    uvicorn.run(**options(bind=bind, port=port, **more))


def most_connections() -> int:
    """Return how many connections may be open: half of the files that the process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft < 0 else max(1, min(MOST_CONNECTIONS, soft // 2))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="heartbit_site.web_server", description="Serve the pages, the API and the sockets."
    )
    parser.add_argument(
        "--bind", default="127.0.0.1", metavar="ADDRESS", help="default: %(default)s"
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="default: %(default)s; 0: a free one"
    )
    parser.add_argument(
        "--graceful-seconds",
        type=int,
        default=GRACEFUL_SECONDS,
        metavar="SECONDS",
        help="time for requests to end after SIGTERM; default: %(default)s",
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="warning")
    parser.add_argument("--access-log", action="store_true", help="write a line for each request")
    given = vars(parser.parse_args(arguments))
    try:
        serve(**given)
    except ConfigurationError as error:
        sys.stderr.write(f"heartbit: {error}\n")
        sys.exit(2)
