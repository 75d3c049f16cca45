"""Authentication and authorization of requests, by an API key or a person's session.

A page's scripts come with the session's cookie. They name the workspace in ``Heartbit-Workspace``
(or ``?workspace=``, where no header can be set) and, for every change, send the CSRF token. A key
implies its workspace and needs no token, because no browser sends it by itself.
"""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth import get_user
from django.http import HttpRequest
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from heartbit_site.api.errors import TooManyRequestsError, UnauthorizedError
from heartbit_site.api.rate_limit import bucket_key, prefixes, rate_limiter
from heartbit_site.base.access import Access, access_of_key, access_of_user, is_operator
from heartbit_site.base.actions.api_keys import authenticate_api_key
from heartbit_site.base.errors import ForbiddenError, HeartbitError
from heartbit_site.base.rights import forbidden
from heartbit_site.contract import operation
from heartbit_site.contract.operation import Needs

SCHEME = "bearer"
WORKSPACE_HEADER = "Heartbit-Workspace"
_READS = {"GET", "HEAD", "OPTIONS"}


class NeedsAuth(AuthBase):
    """An API key in ``Authorization: Bearer``, or a session, with the rights that are needed."""

    openapi_type = "http"
    openapi_scheme = SCHEME

    def __init__(self, needs: Needs) -> None:
        super().__init__()
        self.needs = needs

    def __call__(self, request: HttpRequest) -> Any:
        """Return the caller's ``Access``: their workspace and scopes.

        Raises:
            UnauthorizedError: There is no key and no session, or the key is not valid.
            ForbiddenError: The caller lacks a scope, a session sent no CSRF token or named no
            workspace, or the operation is only for operators.
            NoWorkspaceError: A session names a workspace of which the person is not a member.
            TooManyRequestsError: The caller sends too many requests.
        """
        access = _access(request)
        check_needs(access, self.needs)
        return access


class PersonAuth(NeedsAuth):
    """Authentication without a workspace, for the list of the caller's workspaces."""

    def __call__(self, request: HttpRequest) -> Any:
        """Return the ``Access`` of a key, or the user of a session.

        Raises:
            UnauthorizedError: There is no key and no session, or the key is not valid.
            TooManyRequestsError: The caller sends too many requests.
        """
        return _key(request) or _user(request)


def check_needs(access: Access, needs: Needs) -> None:
    """Refuse a caller who lacks the rights that an operation needs.

    Raises:
        ForbiddenError: A scope is missing, or the operation is only for operators.
    """
    missing = [scope for scope in needs.scopes if not access.allows(scope)]
    if missing and not (needs.either and len(missing) < len(needs.scopes)):
        raise forbidden(access, missing[0])
    if needs.operator and not is_operator(access):
        raise ForbiddenError(
            "The fleet belongs to the installation: use a key that a superuser or the command line "
            "created."
        )


def key_in(header: str) -> str | None:
    """Return the API key of an ``Authorization`` header; None: the header has none."""
    scheme, _, text = header.partition(" ")
    return text if scheme.lower() == SCHEME and text.strip() else None


def opened_by(key: str, *, address: str) -> Access:
    """Return the access of an API key, and count a request.

    Args:
        key: As it was sent.
        address: The sender's, by which failed attempts are counted.

    Raises:
        UnauthorizedError: The key is not valid.
        TooManyRequestsError: The caller sends too many requests.
    """
    try:
        rate_limiter().check(bucket_key(address))
    except TooManyRequestsError:
        # Others at this address are let in, but a guess is not worth a look.
        if not prefixes().may_open(key):
            raise
    row = authenticate_api_key(key)
    if row is None:
        raise refuse_unknown(
            address, UnauthorizedError("The API key is unknown, expired or revoked.")
        )
    rate_limiter().take(f"key:{row.pk}")
    return access_of_key(row)


def _key(request: HttpRequest) -> Access | None:
    """Return the access of a key, or None."""
    key = key_in(request.headers.get("Authorization", ""))
    return None if key is None else opened_by(key, address=address_of(request))


def _user(request: HttpRequest) -> Any:
    # A request with the header has no session at all (``heartbit_site.api.programs``).
    user = None if "Authorization" in request.headers else get_user(request)
    if user is None or not user.is_authenticated:
        raise refuse_unknown(
            address_of(request), UnauthorizedError("Send an API key: Authorization: Bearer hb_...")
        )
    rate_limiter().take(f"user:{user.pk}")
    return user


def address_of(request: HttpRequest) -> str:
    """Return the address of the sender of a request."""
    return str(request.META.get("REMOTE_ADDR", ""))


def refuse_unknown(address: str, error: HeartbitError) -> HeartbitError:
    """Count an unknown caller by the address's network, and return the refusal.

    Raises:
        TooManyRequestsError: The caller sends too many requests.
    """
    rate_limiter().take(bucket_key(address))
    return error


def _access(request: HttpRequest) -> Access:
    found = _key(request)
    if found is not None:
        return found
    user = _user(request)
    if request.method not in _READS and check_csrf(request) is not None:
        raise ForbiddenError("The CSRF token is missing or expired: reload the page.")
    slug = request.headers.get(WORKSPACE_HEADER) or request.GET.get("workspace")
    if not slug:
        raise ForbiddenError(f"Name the workspace in the header {WORKSPACE_HEADER}.")
    return access_of_user(user, slug)


READ_RUNS = NeedsAuth(operation.READ_RUNS)
PERSON = PersonAuth(operation.MEMBER)


def access_of(request: HttpRequest) -> Access:
    """Return the caller of a request."""
    return cast("Access", cast("Any", request).auth)
