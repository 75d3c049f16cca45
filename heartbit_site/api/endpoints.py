"""The operations of the contract as routes of the REST API."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Header, Path, Query, Router, Schema
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from heartbit_site.api.auth import NeedsAuth, access_of
from heartbit_site.api.openapi import answers
from heartbit_site.contract.model import Word
from heartbit_site.contract.operation import Answered, Operation, PendingAnswer, operations_of
from heartbit_site.operations.lookup import function_of

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
    found = operations_of(noun)
    router = Router(tags=[found[0].noun])
    for operation in found:
        responses = answers(
            operation.output,
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
    operation: Operation[Any], found: BaseModel | Answered[Any] | PendingAnswer[Any] | None
) -> HttpResponse:
    if isinstance(found, PendingAnswer):
        return PendingResponse(operation, found)
    if isinstance(found, Answered):
        return _written(found.view, found.status)
    return _written(found, operation.status)


def _written(view: BaseModel | None, status: int) -> HttpResponse:
    if view is None:
        return HttpResponse(status=status)
    return HttpResponse(view.model_dump_json(), status=status, content_type=JSON)
