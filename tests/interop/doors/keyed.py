"""A place in front of Heartbit that adds the key, for programs that can send none."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import httpx
import uvicorn
from starlette.requests import Request
from starlette.responses import StreamingResponse

from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Receive, Scope, Send

    from tests.interop.doors.heartbit import Heartbit

#: Headers of a connection, which are this place's own.
_OWN: Final = frozenset({"connection", "content-length", "transfer-encoding", "authorization"})


@contextmanager
def keyed(heartbit: Heartbit) -> Iterator[str]:
    """Listen; yields the address, which takes Heartbit's paths."""

    async def forward(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        headers = [one for one in request.headers.items() if one[0] not in _OWN]
        headers.append(("authorization", f"Bearer {heartbit.key}"))
        place = f"{heartbit.url}{request.url.path}"
        place += f"?{request.url.query}" if request.url.query else ""
        body = await request.body()
        async with (
            httpx.AsyncClient(timeout=60, trust_env=False) as http,
            http.stream(request.method, place, headers=headers, content=body) as answer,
        ):
            kept = {name: value for name, value in answer.headers.items() if name not in _OWN}
            response = StreamingResponse(answer.aiter_raw(), answer.status_code, kept)
            await response(scope, receive, send)

    config = uvicorn.Config(forward, port=0, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, what="the place with the key listens")
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
