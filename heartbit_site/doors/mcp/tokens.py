"""Access tokens of an OpenID Connect issuer, which open ``/mcp`` as an API key does.

The issuer, which the operator trusts, signs the subject or the name of a person (RFC 9068) and the
address that the token is for (RFC 8707). What they may do is what their role here permits. Clients
find the issuer in the metadata of the address (RFC 9728).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest

from heartbit_site.api.auth import WORKSPACE_HEADER, address_of, refuse_unknown
from heartbit_site.api.errors import UnauthorizedError
from heartbit_site.api.rate_limit import bucket_key, rate_limiter
from heartbit_site.base import orm
from heartbit_site.base.access import Access, access_of_user
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.issuer_errors import BadTokenError
from heartbit_site.base.models import Membership
from heartbit_site.base.rights import forbidden
from heartbit_site.base.scopes import SCOPES
from heartbit_site.base.untrusted import clean_text

#: Where the metadata of an address is: before its path.
WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


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
        claims = await _claims_of(token, request.path)
    except BadTokenError as error:
        sentence = f"The access token is not valid here: {error}."
        raise refuse_unknown(address, UnauthorizedError(sentence)) from None
    return await orm.run_in_thread(lambda: _access(request, claims, scopes))


async def _claims_of(token: str, path: str) -> Mapping[str, Any]:
    # PyJWT loads 15 MB of cryptography, which a process without such clients does not pay for.
    name = "heartbit_site.doors.mcp.signatures"
    signatures: Any = await orm.run_in_thread(lambda: import_module(name))
    found: Mapping[str, Any] = await signatures.claims_of(token, resource_of(path))
    return found


def _access(request: HttpRequest, claims: Mapping[str, Any], scopes: tuple[str, ...]) -> Access:
    issuers = settings.HEARTBIT_MCP_ISSUER, settings.HEARTBIT_OIDC_ISSUER
    is_of_sign_in = len({issuer.rstrip("/") for issuer in issuers}) == 1
    person = _by_subject(claims) if is_of_sign_in else _by_name(claims)
    if person is None:
        remedy = ": sign in to Heartbit in a browser once" if is_of_sign_in else ""
        sentence = f"The access token names a person who has no account here{remedy}."
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


def _by_subject(claims: Mapping[str, Any]) -> User | None:
    """Return the account that a person of the issuer opened at the sign-in; names may change."""
    subject = claims.get("sub")
    if not isinstance(subject, str):
        return None
    # The table is there if people sign in at an issuer.
    models: Any = import_module("allauth.socialaccount.models")
    links = models.SocialAccount.objects.select_related("user")
    issuer = settings.HEARTBIT_OIDC_ISSUER
    found = links.filter(provider=issuer, uid=clean_text(subject), user__is_active=True).first()
    person: User | None = found.user if found is not None else None
    return person


def _by_name(claims: Mapping[str, Any]) -> User | None:
    """Return the account of a name; a superuser's is opened by no name, which one may choose."""
    name = claims.get(settings.HEARTBIT_MCP_PERSON_CLAIM)
    if not isinstance(name, str):
        return None
    people = User.objects.filter(is_active=True, is_superuser=False)
    return people.filter(username=clean_text(name)).first()
