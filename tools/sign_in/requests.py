"""Requests to the endpoints of the authorization server of a person's sign-in."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import httpx
from django.conf import settings

from heartbit_site.base import aio
from heartbit_site.base.credentials import SignInCredential
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tools.credentials.oauth import TokenAnswer, read_token_response
from tools.sign_in.plan import OAuthClient

#: Limit of each request, and of the wait for data.
SECONDS: Final = 10.0
_MAX_BYTES: Final = 1_000_000
_OK, _REDIRECT, _BAD_REQUEST, _UNKNOWN_CLIENT = 200, 300, 400, 401


def sign_in_client() -> GuardedClient:
    """Return a client for metadata, registration and tokens: small answers, and no redirects."""
    return GuardedClient(
        allow=parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST),
        max_response_bytes=_MAX_BYTES,
        deadline_seconds=SECONDS,
        follow_redirects=False,
    )


def client_of(value: SignInCredential) -> OAuthClient:
    """Return the client that created a stored sign-in."""
    return OAuthClient(value.client_id, value.client_secret.get_secret_value(), value.method)


async def request_tokens(
    url: str, form: Mapping[str, str], http: httpx.AsyncClient, client: OAuthClient
) -> TokenAnswer:
    """Return the tokens that an authorization server gives for a grant.

    Args:
        url: The token endpoint.
        form: The grant.
        http: The guarded client, following no redirects.
        client: The client that makes the request.

    Raises:
        TokenRefusedError: The server refuses the grant or the client.
        OAuthError: The answer has no usable token.
        httpx.HTTPError: The server cannot be reached.
    """
    response = await post_as_client(url, form, http, client)
    return read_token_response(response, url, check="sign in again")


async def post_as_client(
    url: str, form: Mapping[str, str], http: httpx.AsyncClient, client: OAuthClient
) -> httpx.Response:
    """Send a form as a client and return the response; see ``request_tokens``."""
    headers = {"accept": "application/json"}
    fields = {**form, "client_id": client.id}  # some servers expect it here even with Basic
    if client.method == "client_secret_basic":
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif client.method == "client_secret_post":
        fields["client_secret"] = client.secret
    response = await http.post(url, data=fields, headers=headers, follow_redirects=False)
    if response.status_code == _UNKNOWN_CLIENT and headers.pop("authorization", ""):
        fields["client_secret"] = client.secret  # registered for it; the metadata omits this
        response = await http.post(url, data=fields, headers=headers, follow_redirects=False)
    return response


def revoke_tokens(value: SignInCredential) -> str:
    """Revoke the tokens of a sign-in that was removed; return the result as a sentence."""
    if not value.revocation_url:
        return (
            f"Disconnected. {value.issuer} publishes no endpoint to revoke tokens: end the access "
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

    Servers built with the MCP SDK require the secret as a form field, even from clients that send
    it in a header or have none; it may be empty (RFC 6749, section 2.3.1).
    """
    client = client_of(value)
    status = _OK
    for field in ({}, {"client_secret": client.secret}):
        response = await post_as_client(value.revocation_url, {**form, **field}, http, client)
        status = response.status_code
        if status != _BAD_REQUEST:
            break
    return status
