"""Access tokens of an OpenID Connect issuer, which open ``/mcp`` as an API key does.

The issuer, which the operator trusts, signs the name of a person (RFC 9068) and the address that
the token is for (RFC 8707). What they may do is what their role here permits. Clients find the
issuer in the metadata of the address (RFC 9728).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

import httpx
import jwt
from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpRequest

from heartbit_site.api.auth import WORKSPACE_HEADER, address_of, refuse_unknown
from heartbit_site.api.errors import UnauthorizedError
from heartbit_site.api.rate_limit import bucket_key, rate_limiter
from heartbit_site.base import orm
from heartbit_site.base.access import Access, access_of_user
from heartbit_site.base.errors import ForbiddenError, HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.http.errors import BlockedAddressError, OutboundLimitError
from heartbit_site.base.models import Membership
from heartbit_site.base.rights import forbidden
from heartbit_site.base.scopes import SCOPES
from heartbit_site.base.untrusted import UntrustedJSONError, clean_text, parse_untrusted_json

#: Where the metadata of an address is: before its path.
WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_ALGORITHMS: Final = ("RS256", "PS256", "ES256", "ES384", "EdDSA")
_REQUIRED: Final = ("exp", "iss", "aud", "sub")
_LEEWAY_SECONDS: Final = 30
_KEPT_SECONDS: Final = 600.0  # of the issuer's keys
_AGAIN_SECONDS: Final = 30.0  # between two looks for a key that the issuer has not


class IssuerError(HeartbitError):
    """The issuer's keys cannot be read."""


def is_token(text: str) -> bool:
    """Return True if a bearer is a signed token, and no API key."""
    return settings.HEARTBIT_MCP_ISSUER != "" and text.count(".") == 2


def resource_of(path: str) -> str:
    """Return the identifier of an address, which its tokens are for."""
    return f"{settings.HEARTBIT_PUBLIC_URL}{path}"


def metadata_of(path: str, scopes: tuple[str, ...]) -> dict[str, Any]:
    """Return what clients read about an address."""
    return {
        "resource": resource_of(path),
        "resource_name": "Heartbit",
        "authorization_servers": [settings.HEARTBIT_MCP_ISSUER],
        "bearer_methods_supported": ["header"],
        "scopes_supported": [*(scopes or SCOPES)],
    }


async def access_by_token(request: HttpRequest, token: str, scopes: tuple[str, ...]) -> Access:
    """Return the access of the person that a token names.

    Args:
        request: The request; its header ``Heartbit-Workspace`` says where, for members of several.
        token: The token.
        scopes: Scopes that the person needs.

    Raises:
        UnauthorizedError: The token is not valid here, or its person has no account.
        NoWorkspaceError: The person is not a member of the workspace.
        ForbiddenError: A scope is missing, or no workspace is named.
        IssuerError: The issuer cannot be read.
        TooManyRequestsError: The caller sends too many requests.
    """
    address = address_of(request)
    rate_limiter().check(bucket_key(address))
    try:
        key = await _issuer().key_of(str(jwt.get_unverified_header(token).get("kid", "")))
        claims = jwt.decode(
            token,
            key,
            algorithms=_ALGORITHMS,
            audience=resource_of(request.path),
            issuer=[settings.HEARTBIT_MCP_ISSUER, f"{settings.HEARTBIT_MCP_ISSUER}/"],
            leeway=_LEEWAY_SECONDS,
            options={"require": [*_REQUIRED]},
        )
    except jwt.InvalidTokenError as error:
        sentence = f"The access token is not valid here: {clean_text(str(error))}."
        raise refuse_unknown(address, UnauthorizedError(sentence)) from None
    return await orm.run_in_thread(lambda: _access(request, claims, scopes))


def _access(request: HttpRequest, claims: Mapping[str, Any], scopes: tuple[str, ...]) -> Access:
    name = claims.get(settings.HEARTBIT_MCP_PERSON_CLAIM)
    people = get_user_model().objects.filter(is_active=True)
    person = people.filter(username=clean_text(name)).first() if isinstance(name, str) else None
    if person is None:
        sentence = "The access token is of somebody who has no account here."
        raise refuse_unknown(address_of(request), UnauthorizedError(sentence))
    rate_limiter().take(f"user:{person.pk}")
    slug = request.headers.get(WORKSPACE_HEADER, "")
    if not slug:
        found = Membership.objects.filter(user=person).values_list("workspace__slug", flat=True)[:2]
        if len(found) != 1:
            raise ForbiddenError(f"Name one of your workspaces in the header {WORKSPACE_HEADER}.")
        slug = found[0]
    access = replace(access_of_user(person, slug), via="api")
    # An issuer that knows no scopes of Heartbit limits nothing.
    named = frozenset(str(claims.get("scope", "")).split()) & frozenset(SCOPES)
    access = replace(access, scopes=access.scopes & named) if named else access
    missing = [scope for scope in scopes if not access.allows(scope)]
    if missing:
        raise forbidden(access, missing[0])
    return access


class Issuer:
    """The issuer's keys, as this process has read them.

    Args:
        name: The issuer, without a slash at its end.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = float("-inf")

    async def key_of(self, name: str) -> jwt.PyJWK:
        """Return the key of that id.

        Raises:
            jwt.InvalidTokenError: The issuer has none.
            IssuerError: The issuer cannot be read.
        """
        age = time.monotonic() - self._read_at
        if age > _KEPT_SECONDS or (name not in self._keys and age > _AGAIN_SECONDS):
            self._keys = await self._read()
            self._read_at = time.monotonic()
        if name not in self._keys:
            raise jwt.InvalidTokenError("the issuer has no such key")
        return self._keys[name]

    async def _read(self) -> dict[str, jwt.PyJWK]:
        place = f"{self._name}/.well-known/openid-configuration"
        try:
            async with GuardedClient(allow=parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)) as http:
                document = await _json(http, place)
                if str(document.get("issuer")).rstrip("/") != self._name:
                    raise IssuerError(f"{place} is of another issuer than {self._name}.")
                found = jwt.PyJWKSet.from_dict(await _json(http, str(document.get("jwks_uri"))))
        except (
            httpx.HTTPError,
            BlockedAddressError,
            OutboundLimitError,
            UntrustedJSONError,
            jwt.PyJWTError,
        ) as error:
            raise IssuerError(
                f"The keys of {self._name} cannot be read: {error}. Try again in a moment."
            ) from error
        return {one.key_id: one for one in found.keys if one.key_id}


async def _json(http: httpx.AsyncClient, place: str) -> dict[str, Any]:
    response = await http.get(place, headers={"Accept": "application/json"})
    response.raise_for_status()
    found = parse_untrusted_json(response.content)
    if not isinstance(found, dict):
        raise IssuerError(f"{place} is not a JSON object.")
    return found


@cache
def _issuer() -> Issuer:
    return Issuer(settings.HEARTBIT_MCP_ISSUER)
