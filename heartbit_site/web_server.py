"""The web process: uvicorn with Heartbit's options, which are listed here alone.

Every web process starts through `serve`: `heartbit web`, and so `heartbit up`, the image and the
systemd unit.
"""

from __future__ import annotations

from typing import Final

import uvicorn

APPLICATION: Final = "heartbit_site.asgi:application"
#: Seconds that open requests and streams have to end once the process was asked to leave.
GRACE_SECONDS: Final = 8
#: Largest WebSocket message that is read, in bytes: pages send single commands.
SOCKET_MESSAGE_BYTES: Final = 65_536


def serve(*, bind: str, port: int, grace_seconds: int, loglevel: str) -> None:
    """Serve the pages and the API until SIGTERM or Ctrl-C.

    Args:
        bind: Address to listen on.
        port: Port to listen on; 0: any free one, which the log names.
        grace_seconds: Seconds that open requests have to end.
        loglevel: Lowest level that is logged, such as `info`.
    """
    uvicorn.run(
        APPLICATION,
        host=bind,
        port=port,
        lifespan="off",
        log_level=loglevel,
        access_log=False,
        timeout_graceful_shutdown=grace_seconds,
        ws_max_size=SOCKET_MESSAGE_BYTES,
        # A page's lines are small and many: to compress each costs more than it saves.
        ws_per_message_deflate=False,
    )
