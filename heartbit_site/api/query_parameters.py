"""Refusal of unknown query parameters: a misspelt filter must not give everything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest
from ninja import Router

from heartbit_site.base.errors import HeartbitError
from tools.texts.near_names import closest

#: The workspace of a session where no header can be set.
WORKSPACE = "workspace"
_SHOWN = 80  # characters of a name

#: The parameters of each method of an address.
Parameters = dict[str, frozenset[str]]


class UnknownParameterError(HeartbitError):
    """A request has a query parameter that its operation does not have."""


def parameters_by_route(routers: Iterable[Router]) -> dict[str, Parameters]:
    """Return the query parameters of callers' operations, by Django's form of their addresses."""
    return {
        path.lstrip("/").replace("{", "<").replace("}", ">"): {
            method: _names(operation)
            for operation in view.operations
            if operation.auth_callbacks  # others, as a probe or a hook, may be called with more
            for method in operation.methods
        }
        for router in routers
        for path, view in router.path_operations.items()
    }


def refuse_unknown_parameters(request: HttpRequest, known: Mapping[str, frozenset[str]]) -> None:
    """Check the names of a request's query parameters.

    Args:
        request: The request; a method that its address does not have is not checked.
        known: Parameters by method.

    Raises:
        UnknownParameterError: There is no such parameter; the message suggests the closest one.
    """
    names = known.get(request.method or "")
    if names is None:
        return
    for name in request.GET:
        if name not in names:
            near = closest(name, names)
            end = f"did you mean {near[0]}?" if near else "/api/v1/docs lists them."
            raise UnknownParameterError(f"There is no parameter {name[:_SHOWN]}: {end}")


def _names(operation: Any) -> frozenset[str]:
    models = [one for one in operation.models if one.__ninja_param_source__ == "query"]
    named = {name for model in models for name in model.__ninja_flatten_map__}
    return frozenset(named | {WORKSPACE})
