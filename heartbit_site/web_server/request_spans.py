"""Spans of requests, and the trace of what they start."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any, Final

from agents.tracing import names
from agents.tracing import runs as traces
from heartbit_site.base.log_context import TRACEPARENT
from heartbit_site.base.tracing import format_traceparent, parse_traceparent

_HEADER: Final = b"traceparent"
#: Requests of programs and people; not of files, probes and scrapers.
_UNTRACED: Final = ("/static/", "/metrics", "/api/v1/health")
_ABORTED: Final = 499


class RequestSpans:
    """ASGI middleware that exports a span for each request.

    Args:
        application: The ASGI application.
    """

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        if not traces.is_on() or scope["path"].startswith(_UNTRACED):
            await self._application(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == _HEADER), b"")
        parent = parse_traceparent(given.decode("latin-1"))
        trace_id = parent[3:35] or secrets.token_hex(16)
        traceparent = format_traceparent(trace_id, secrets.token_hex(8))
        status = _ABORTED

        async def noted(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        start = datetime.now(UTC)
        token = TRACEPARENT.set(traceparent)
        try:
            await self._application(scope, receive, noted)
        finally:
            TRACEPARENT.reset(token)
            named = names.request(scope["method"], scope["path"], status)
            times = start, datetime.now(UTC)
            traces.export_request(traceparent, parent, named=named, times=times)
