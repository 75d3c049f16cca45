"""Requests of programs: Django's handler without the middleware of pages.

Django runs each middleware's code in a thread and waits for it, some twenty times a request. A
request with an ``Authorization`` header has no session, no form and no page: what is left only
looks at the request or sets headers, and is done on the loop::

    application = ProgramRequests(pages=get_asgi_application())
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final

from asgiref.sync import ThreadSensitiveContext
from csp.constants import HEADER as CSP_HEADER
from csp.utils import build_policy
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix
from django.utils.module_loading import import_string

PATH: Final = "/api/"
#: Paths of doors, which no page uses.
DOORS: Final = ("/v1/", "/agui/", "/a2a", "/.well-known/agent-card.json")
#: Those of ``settings.MIDDLEWARE`` that count here, in its order; they neither block nor wait.
MIDDLEWARE: Final = (
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
)


class ProgramRequests:
    """ASGI application that handles programs' requests itself.

    Args:
        pages: Handles all others.
    """

    def __init__(self, pages: Any) -> None:
        self._pages = pages
        self._programs = _Handler()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        path = scope["path"]
        has_key = any(name == b"authorization" for name, _ in scope["headers"])
        by_program = path.startswith(DOORS) or (path.startswith(PATH) and has_key)
        await (self._programs if by_program else self._pages)(scope, receive, send)


class _Handler(ASGIHandler):
    """Django's handler, with its middleware on the loop and without its signals.

    The signals close old connections of the thread that serves the request: here no thread does,
    and ``heartbit_site.base.orm`` looks after those of its own.
    """

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001, FBT002  Django's
        """Build the chain of ``MIDDLEWARE``."""
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        layers = [import_string(name)(_nothing) for name in MIDDLEWARE]
        inner: Any = self._get_response_async  # type: ignore[attr-defined]  # Django's own
        respond: Any = convert_exception_to_response(inner)
        policy = build_policy()  # as CSPMiddleware gives it to a page without needs of its own

        async def chain(request: HttpRequest) -> HttpResponseBase:
            for layer in layers:
                if hasattr(layer, "process_request"):
                    refused: HttpResponseBase | None = layer.process_request(request)
                    if refused is not None:
                        return refused
            response: HttpResponseBase = await respond(request)
            for layer in reversed(layers):
                response = layer.process_response(request, response)
            response.setdefault(CSP_HEADER, policy)
            return response

        self._middleware_chain = convert_exception_to_response(chain)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        async with ThreadSensitiveContext():
            await self.handle(scope, receive, send)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request; its view is cancelled when the client disconnects."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with contextlib.closing(body):
            set_script_prefix(get_script_prefix(scope))
            request, refusal = self.create_request(scope, body)
            if refusal is not None:
                await self.send_response(refusal, send)
                return
            async with _while_connected(partial(self.listen_for_disconnect, receive)):
                await self._answer(request, send)

    async def _answer(self, request: Any, send: Any) -> None:
        response = await self.run_get_response(request)
        try:
            await self.send_response(response, send)
        finally:
            _release(response)


def _release(response: Any) -> None:
    """Close a response's resources, as its ``close`` does, but send no signal."""
    for close in response._resource_closers:
        with contextlib.suppress(Exception):  # as Django does: the answer has been sent
            close()


@contextlib.asynccontextmanager
async def _while_connected(listen: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Leave the block when ``listen`` raises ``RequestAborted``.

    The task itself runs the block, because a second task would slow down each request.
    """
    serving: Any = asyncio.current_task()

    async def watch() -> None:
        try:
            await listen()
        except RequestAborted:
            serving.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not watching.done() or serving.uncancel():
            raise  # the server stops
    finally:
        watching.cancel()


def _nothing(request: HttpRequest) -> HttpResponse:
    """Stand in for the rest of the chain, which the layers do not call here."""
    return HttpResponse()
