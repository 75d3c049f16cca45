"""Revocation of a sign-in's tokens at their authorization server (RFC 7009), as well as it goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import httpx

from heartbit_site.base import aio
from heartbit_site.base.http.client import GuardedClient
from tools.sign_in.http import sign_in_client
from tools.sign_in.token_request import post_as_client

if TYPE_CHECKING:
    from heartbit_site.base.credentials import SignInCredential

_OK: Final = 200
_REDIRECT: Final = 300
_BAD_REQUEST: Final = 400


def revoke_tokens(value: SignInCredential) -> str:
    """Revoke the tokens of a sign-in that is removed here; return the result as a sentence."""
    if not value.revocation_url:
        return (
            f"Disconnected. {value.issuer} does not say how tokens are revoked: end the access "
            "there too."
        )
    try:
        problem = aio.run(_revoke(value))
    except httpx.HTTPError as error:
        problem = str(error).rstrip(".") or type(error).__name__
    if problem:
        return (
            f"Disconnected, but {value.issuer} did not revoke the tokens ({problem}): end the "
            "access there too."
        )
    return f"Disconnected. {value.issuer} has revoked the tokens."


async def _revoke(value: SignInCredential) -> str:
    """Revoke both tokens, the lasting one first; return the first problem, or an empty string."""
    problem = ""
    async with sign_in_client() as http:
        for kind in ("refresh_token", "access_token"):
            token = getattr(value, kind).get_secret_value()
            if not token:
                continue
            status = await _status(value, {"token": token, "token_type_hint": kind}, http)
            if not _OK <= status < _REDIRECT:
                problem = problem or f"HTTP {status}"
    return problem


async def _status(value: SignInCredential, form: Mapping[str, str], http: GuardedClient) -> int:
    """Return the status of the answer to one request.

    Servers made with the MCP SDK want the secret as a field, also of clients that send it otherwise
    or have none; without one it may be empty (RFC 6749, section 2.3.1).
    """
    secret = value.client_secret.get_secret_value()
    status = _OK
    for field in ({}, {"client_secret": secret}):
        response = await post_as_client(
            value.revocation_url,
            {**form, **field},
            http,
            client_id=value.client_id,
            client_secret=secret,
            method=value.method,
        )
        status = response.status_code
        if status != _BAD_REQUEST:
            break
    return status
