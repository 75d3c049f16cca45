"""Who asks: an API key, and whether it may. There is no session here, so no CSRF either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ninja.security.base import AuthBase

from heartbit_site.api.errors import ForbiddenError, UnauthorizedError
from heartbit_site.base import orm
from heartbit_site.base.actions.create_api_key import authenticate_api_key
from heartbit_site.base.models.api_key import OPERATORS_SCOPE

if TYPE_CHECKING:
    from django.http import HttpRequest

    from heartbit_site.base.models import ApiKey, Workspace

SCHEME = "bearer"


class ApiKeyAuth(AuthBase):
    """An API key in ``Authorization: Bearer``, with one scope."""

    openapi_type = "http"
    openapi_scheme = SCHEME

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope

    async def __call__(self, request: HttpRequest) -> ApiKey:
        """The key.

        Raises:
            UnauthorizedError: There is none, or it opens nothing (any more).
            ForbiddenError: It does not have the scope.
        """
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != SCHEME or not text.strip():
            raise UnauthorizedError("Send an API key: Authorization: Bearer hb_...")
        key = await orm.in_thread(lambda: authenticate_api_key(text))
        if key is None:
            raise UnauthorizedError("The API key is unknown, expired or revoked.")
        if not key.allows(self.scope):
            raise ForbiddenError(f"The API key does not have the scope {self.scope}.")
        return key


class OperatorAuth(ApiKeyAuth):
    """The same, for what concerns the installation and not one workspace."""

    async def __call__(self, request: HttpRequest) -> ApiKey:
        """The key.

        Raises:
            UnauthorizedError: There is none, or it opens nothing (any more).
            ForbiddenError: It does not have the scope, or belongs to somebody who is no superuser.
        """
        key = await super().__call__(request)
        if key.user is not None and not key.user.is_superuser:
            raise ForbiddenError(
                "The fleet is the installation's: use a key that a superuser or the command line "
                "made."
            )
        return key


READ_RUNS = ApiKeyAuth("runs:read")
WRITE_RUNS = ApiKeyAuth("runs:write")
DECIDE = ApiKeyAuth("approvals:decide")
READ_AGENTS = ApiKeyAuth("agents:read")
WRITE_AGENTS = ApiKeyAuth("agents:write")
OPERATE = OperatorAuth(OPERATORS_SCOPE)


def key_of(request: HttpRequest) -> ApiKey:
    """The key that a request was let in with."""
    return cast("ApiKey", cast("Any", request).auth)


def workspace_of(request: HttpRequest) -> Workspace:
    """What that key opens: everything a route reads or writes is scoped to it."""
    return key_of(request).workspace


def author_of(request: HttpRequest) -> str:
    """Who asks, as the journal and decisions name it."""
    key = key_of(request)
    person = f" of {key.user.get_username()}" if key.user is not None else ""
    return f"API key {key.name}{person}"[:200]
