"""Requests of OpenAI's API: who sends them, what is answered, and errors in OpenAI's form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from heartbit_site.doors.keys import opened
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
                access = await orm.run_in_thread(lambda: opened(request, scopes))
                return await handler(request, access, **given)
            except HeartbitError as error:
                return refusal(error)
            except Exception as error:  # noqa: BLE001  a client gets JSON whatever happens
                return defect(request.path, error)

        return view

    return decorate
