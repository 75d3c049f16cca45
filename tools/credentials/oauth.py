"""Access tokens of OAuth 2 clients (RFC 6749 section 4.4), cached in the process."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from tools.credentials.token_response import read_token_response

if TYPE_CHECKING:
    import httpx

    from heartbit_site.base.credentials import OAuthClientCredential

_MOST_TOKENS = 1_000
_MARGIN_SECONDS = 30.0

_tokens: dict[OAuthClientCredential, tuple[str, float]] = {}


async def access_token(credential: OAuthClientCredential, http: httpx.AsyncClient) -> str:
    """Return an access token that is valid for at least some seconds.

    Args:
        credential: The client.
        http: The guarded client.

    Raises:
        OAuthError: The server refuses, or its answer has no token. No text has a secret.
        httpx.HTTPError: The server cannot be reached.
    """
    known = _tokens.get(credential)
    if known is not None and known[1] > time.monotonic():
        return known[0]
    token, seconds = await _requested(credential, http)
    now = time.monotonic()
    for each in [each for each, (_, ends) in _tokens.items() if ends <= now]:
        _tokens.pop(each, None)
    if len(_tokens) < _MOST_TOKENS:
        _tokens[credential] = (token, now + seconds - _MARGIN_SECONDS)
    return token


def forget_token(credential: OAuthClientCredential) -> None:
    """Remove a token that a service has refused, so that the next call gets another one."""
    _tokens.pop(credential, None)


async def _requested(
    credential: OAuthClientCredential, http: httpx.AsyncClient
) -> tuple[str, float]:
    """Return a new token and its lifetime in seconds."""
    client, secret = credential.client_id, credential.client_secret.get_secret_value()
    form = {"grant_type": "client_credentials"}
    if credential.scope:
        form["scope"] = credential.scope
    pair = f"{quote_plus(client)}:{quote_plus(secret)}".encode()
    headers = {
        "accept": "application/json",
        "authorization": f"Basic {base64.b64encode(pair).decode()}",
    }
    response = await http.post(
        credential.token_url, data=form, headers=headers, follow_redirects=False
    )
    if response.status_code in (400, 401):  # some servers take both in the form only
        del headers["authorization"]
        form |= {"client_id": client, "client_secret": secret}
        response = await http.post(
            credential.token_url, data=form, headers=headers, follow_redirects=False
        )
    answer = read_token_response(
        response, credential.token_url, check="check the id, the secret and the scope of the client"
    )
    return answer.access_token, answer.seconds
