"""Requests of OpenAI's API: who sends them, what is answered, and errors in OpenAI's form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from heartbit_site.api.auth import address_of, key_in, opened_by, refuse_unknown
from heartbit_site.api.errors import UnauthorizedError
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.rights import forbidden
from heartbit_site.doors.openai.errors import defect, error_body, refusal

Handler = Callable[..., Awaitable[HttpResponseBase]]
View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def door(method: str, *scopes: str) -> Callable[[Handler], View]:
    """Return a decorator for the handler of a path.

    Args:
        method: The method that the path takes.
        scopes: Scopes that the caller's key needs.
    """

    def decorate(handler: Handler) -> View:
        @wraps(handler)
        async def view(request: HttpRequest, **given: str) -> HttpResponseBase:
            if request.method != method:
                body = error_body(405, "method", f"This path takes {method} alone.")
                return JsonResponse(body, status=405, headers={"Allow": method})
            try:
                access = await orm.run_in_thread(lambda: _opened(request, scopes))
                return await handler(request, access, **given)
            except HeartbitError as error:
                return refusal(error)
            except Exception as error:  # noqa: BLE001  a client gets JSON whatever happens
                return defect(request.path, error)

        return view

    return decorate


def _opened(request: HttpRequest, scopes: tuple[str, ...]) -> Access:
    """Return the access of the request's key.

    Raises:
        UnauthorizedError: There is no key, or it is not valid.
        ForbiddenError: The key lacks a scope.
        TooManyRequestsError: The caller sends too many requests.
    """
    key, address = key_in(request.headers.get("Authorization", "")), address_of(request)
    if key is None:
        raise refuse_unknown(
            address, UnauthorizedError("Send an API key of Heartbit as the API key: hb_...")
        )
    access = opened_by(key, address=address)
    missing = [scope for scope in scopes if not access.allows(scope)]
    if missing:
        raise forbidden(access, missing[0])
    return access
