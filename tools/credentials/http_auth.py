"""Headers that carry a credential over HTTP."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import SecretStr

from heartbit_site.base.credentials import (
    ApiKeyCredential,
    BasicCredential,
    BearerCredential,
    OAuthClientCredential,
    QueryKeyCredential,
    UrlCredential,
)
from heartbit_site.base.errors import HeartbitError
from tools.credentials.oauth import access_token

if TYPE_CHECKING:
    import httpx

HttpCredential = BearerCredential | ApiKeyCredential | BasicCredential | OAuthClientCredential


class UnusableCredentialError(HeartbitError):
    """A credential cannot be used for this request; nothing was sent."""


async def auth_headers(
    credential: HttpCredential, url: str, http: httpx.AsyncClient
) -> dict[str, str]:
    """Return the headers that carry a credential to a URL.

    Args:
        credential: The credential.
        url: The URL of the request.
        http: The guarded client, which gets access tokens.

    Raises:
        UnusableCredentialError: The credential was entered for another URL, or a header cannot
            carry it.
        OAuthError: The server returns no access token.
    """
    _check_url(credential, url)
    match credential:
        case BearerCredential():
            return bearer(credential.token)
        case ApiKeyCredential():
            return {credential.header.lower(): header_value(credential.key)}
        case BasicCredential():
            return basic(credential.username, credential.password)
        case OAuthClientCredential():
            return {"authorization": f"Bearer {await access_token(credential, http)}"}


async def authorize(
    credential: HttpCredential | QueryKeyCredential, url: str, http: httpx.AsyncClient
) -> tuple[str, dict[str, str]]:
    """Return the URL and the headers that carry a credential to a URL; as ``auth_headers``."""
    if not isinstance(credential, QueryKeyCredential):
        return url, await auth_headers(credential, url, http)
    _check_url(credential, url)
    key = quote(credential.key.get_secret_value(), safe="")
    return f"{url}{'&' if '?' in url else '?'}{credential.parameter}={key}", {}


def _check_url(credential: UrlCredential, url: str) -> None:
    if not credential.covers(url):
        raise UnusableCredentialError(
            f"The credential is only sent to URLs below {credential.url}: use such a URL."
        )


def bearer(token: SecretStr) -> dict[str, str]:
    """Return the header of a bearer token."""
    return {"authorization": f"Bearer {header_value(token)}"}


def basic(user: str, password: SecretStr) -> dict[str, str]:
    """Return the header of a name and a password, in UTF-8 (RFC 7617)."""
    pair = f"{user}:{password.get_secret_value()}".encode()
    return {"authorization": f"Basic {base64.b64encode(pair).decode()}"}


def header_value(secret: SecretStr) -> str:
    """Return a secret that a header can carry.

    Raises:
        UnusableCredentialError: It has other characters, which an HTTP library would include in its
            own error.
    """
    value = secret.get_secret_value()
    if not value.isascii() or not value.isprintable():
        raise UnusableCredentialError(
            "The credential's secret has characters that HTTP cannot carry: enter it again."
        )
    return value
