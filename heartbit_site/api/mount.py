"""The API as Django URLs: the routes, their description (OpenAPI) and its page."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Annotated, Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, include, path, re_path
from django.utils.http import content_disposition_header
from ninja import Header, Path, Query, Router, Schema
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from heartbit_site.api import errors
from heartbit_site.api.auth import NeedsAuth, access_of
from heartbit_site.api.json_parser import UntrustedParser
from heartbit_site.api.openapi import FILE, DescribedAPI, answers
from heartbit_site.api.query_parameters import (
    Parameters,
    UnknownParameterError,
    parameters_by_route,
    refuse_unknown_parameters,
)
from heartbit_site.api.routes import (
    chat_apps,
    events,
    health,
    inbound,
    system_events,
    workspaces,
)
from heartbit_site.base import orm
from heartbit_site.base.pictures import kind_of
from heartbit_site.contract.model import Word
from heartbit_site.contract.operation import (
    Answered,
    Download,
    Operation,
    PendingAnswer,
    noun_modules,
    operations_of,
)
from heartbit_site.operations import function_of

# Ninja makes models of each route's parameters and answers. They are built when first used, and
# those of answers never, for the contract's own are sent: 8 MB and 0.1 s of each web process.
Schema.model_config["defer_build"] = True

JSON = "application/json; charset=utf-8"
#: A parameter of this name comes in a header.
KEY = "idempotency_key"
IdempotencyKey = Annotated[
    Word | None,
    Header(
        alias="Idempotency-Key",
        description="Only the first request with a key creates something.",
    ),
]


def router_for(noun: ModuleType) -> Router:
    """Return the routes of a module of the contract, which functions of the same names serve."""
    router = Router()
    for operation in operations_of(noun):
        responses = answers(
            str if operation.is_file else operation.output,
            *operation.errors,
            status=operation.status,
            body=operation.body is not None,
        )
        responses |= dict.fromkeys(operation.other_statuses, operation.output)
        router.add_api_operation(
            operation.path,
            [operation.method],
            _view(operation, function_of(operation)),
            auth=NeedsAuth(operation.needs),
            response=responses,
            operation_id=operation.name,
            summary=operation.summary,
            tags=[operation.noun],
            openapi_extra=FILE if operation.is_file else None,
        )
    return router


class PendingResponse(HttpResponse):
    """A response to await, which a view returns instead of its own."""

    def __init__(self, operation: Operation[Any], pending: PendingAnswer[Any]) -> None:
        super().__init__()
        self._operation = operation
        self._pending = pending

    async def complete(self) -> HttpResponse:
        """Return the response once it is there."""
        return _response(self._operation, await self._pending.wait())


def _view(operation: Operation[Any], function: Callable[..., Any]) -> Callable[..., HttpResponse]:
    """Return a view with the function's parameters, except the first, which is the caller."""

    def view(request: HttpRequest, **given: Any) -> HttpResponse:
        return _response(operation, function(access_of(request), **given))

    _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
    request = inspect.Parameter(
        "request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=HttpRequest
    )
    shown = [
        one.replace(annotation=IdempotencyKey if one.name == KEY else _described(operation, one))
        for one in parameters
    ]
    described: Any = view
    described.__signature__ = inspect.Signature([request, *shown])  # which ninja reads
    view.__doc__ = function.__doc__
    view.__name__ = operation.name
    return view


def _described(operation: Operation[Any], parameter: inspect.Parameter) -> Any:
    """Return a parameter's annotation with its description as ninja's own, which it publishes."""
    fields = getattr(parameter.annotation, "__metadata__", ())
    words = [one.description for one in fields if isinstance(one, FieldInfo) and one.description]
    if not words:
        return parameter.annotation
    place: Any = Path if f"{{{parameter.name}}}" in operation.path else Query
    default = ... if parameter.default is parameter.empty else parameter.default
    annotated: Any = Annotated
    return annotated[parameter.annotation, place(default, description=words[-1])]


def _response(
    operation: Operation[Any],
    found: BaseModel | Answered[Any] | PendingAnswer[Any] | Download | None,
) -> HttpResponse:
    if isinstance(found, Download):
        return _to_be_saved(found)
    if isinstance(found, PendingAnswer):
        return PendingResponse(operation, found)
    if isinstance(found, Answered):
        return _written(found.view, found.status)
    return _written(found, operation.status)


def _written(view: BaseModel | None, status: int) -> HttpResponse:
    if view is None:
        return HttpResponse(status=status)
    return HttpResponse(view.model_dump_json(), status=status, content_type=JSON)


def _to_be_saved(file: Download) -> HttpResponse:
    """Return a file as a download.

    Models wrote it, so it is plain text to be saved, or a PNG or JPEG, never something that a
    browser would run on this host (``nosniff``, which every response has, keeps it from guessing).
    """
    response = HttpResponse(file.content, content_type="text/plain; charset=utf-8")
    saved = content_disposition_header(as_attachment=True, filename=file.name)
    response["Content-Disposition"] = saved or "attachment"
    response["Cache-Control"] = "no-store"
    kind = kind_of(file.content) if isinstance(file.content, bytes) else ""
    if kind in ("PNG", "JPEG"):  # which no browser runs; a page may show it
        response["Content-Type"] = f"image/{kind.lower()}"
    return response


NAMESPACE = "api-v1"
#: The nouns of the contract, and what is no JSON or needs no caller.
ROUTERS = (
    *map(router_for, noun_modules()),
    events.router,
    system_events.router,
    workspaces.router,
    inbound.router,
    chat_apps.router,
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
