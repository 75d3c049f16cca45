"""The API as Django URLs: the routes, their description (OpenAPI) and its page."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, include, path, re_path

from heartbit_site.api import errors
from heartbit_site.api.endpoints import PendingResponse, router_for
from heartbit_site.api.json_parser import UntrustedParser
from heartbit_site.api.openapi_schema import DescribedAPI
from heartbit_site.api.query_parameters import (
    Parameters,
    UnknownParameterError,
    parameters_by_route,
    refuse_unknown_parameters,
)
from heartbit_site.api.routes import artifact_files, events, health, inbound, workspaces
from heartbit_site.base import orm
from heartbit_site.contract.operation import noun_modules

NAMESPACE = "api-v1"
#: The nouns of the contract, and what is no JSON or needs no caller.
ROUTERS = (
    *map(router_for, noun_modules()),
    events.router,
    artifact_files.router,
    workspaces.router,
    inbound.router,
    health.router,
)

api = DescribedAPI(
    title="Heartbit",
    version="1",
    description="Durable runs of AI agents. A request needs `Authorization: Bearer hb_...`.",
    urls_namespace=NAMESPACE,
    parser=UntrustedParser(),
)
errors.install(api)
for router in ROUTERS:
    api.add_router("", router)


async def nothing_here(request: HttpRequest) -> HttpResponseBase:
    """Answer requests to every other path below ``/api/``."""
    return errors.answer(
        404, "not_found", "There is nothing at this address: /api/v1/docs lists the operations."
    )


def on_loop(view: Callable[..., Any], parameters: Parameters) -> Callable[..., Any]:
    """Return ninja's view for the loop: authentication, checks and operation take one thread.

    A wrong method, or an unknown query parameter, is answered with problem details.

    Args:
        view: The view.
        parameters: The query parameters of each of its methods.
    """
    is_async = inspect.iscoroutinefunction(view)

    @wraps(view)
    async def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase
        try:
            refuse_unknown_parameters(request, parameters)
        except UnknownParameterError as error:
            return errors.heartbit_error(request, error)
        if is_async:
            response = await view(request, *args, **kwargs)
        else:
            _keep_body(request)
            response = await orm.run_in_thread(lambda: view(request, *args, **kwargs))
        if isinstance(response, PendingResponse):
            return await _completed(request, response)
        if response.status_code != 405:
            return response
        allowed = response["Allow"]
        refused = errors.answer(
            405, "method", f"{request.method} is not allowed for this path: use {allowed}."
        )
        refused["Allow"] = allowed
        return refused

    return answered


def _keep_body(request: HttpRequest) -> None:
    """Read the body now: its file is closed when the client disconnects, but no thread stops."""
    with contextlib.suppress(RequestDataTooBig):
        _ = request.body


async def _completed(request: HttpRequest, response: PendingResponse) -> HttpResponseBase:
    try:
        return await response.complete()
    except Exception as error:  # noqa: BLE001  as ninja does for its views
        answered: HttpResponseBase = api.on_exception(request, error)
        return answered


def _patterns() -> list[URLPattern]:
    mounted: list[Any] = api.urls[0]
    described = {"openapi-json", "openapi-view"}
    parameters = parameters_by_route(ROUTERS)
    found = []
    for pattern in mounted:
        view: Any = nothing_here if pattern.name == "api-root" else pattern.callback
        known = parameters.get(str(pattern.pattern), {})
        wrapped = on_loop(view, known) if pattern.name not in described else view
        found.append(URLPattern(pattern.pattern, wrapped, pattern.default_args, pattern.name))
    return found


urlpatterns = [
    path("api/v1/", include((_patterns(), "ninja"), namespace=NAMESPACE)),
    re_path(r"^api(?:/|$)", nothing_here),
]
