"""Keys of doors: who sends a request."""

from __future__ import annotations

from django.http import HttpRequest

from heartbit_site.api.auth import address_of, key_in, opened_by, refuse_unknown
from heartbit_site.api.errors import UnauthorizedError
from heartbit_site.base.access import Access
from heartbit_site.base.rights import forbidden


def opened(request: HttpRequest, scopes: tuple[str, ...]) -> Access:
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
