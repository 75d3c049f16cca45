"""Requests to the endpoints of the authorization server of a person's sign-in."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from tools.credentials.oauth import TokenAnswer, read_token_response

if TYPE_CHECKING:
    import httpx


_UNKNOWN_CLIENT = 401


async def request_tokens(
    url: str,
    form: Mapping[str, str],
    http: httpx.AsyncClient,
    *,
    client_id: str,
    client_secret: str,
    method: str,
) -> TokenAnswer:
    """Return the tokens that an authorization server gives for a grant.

    Args:
        url: The token endpoint.
        form: The grant.
        http: The guarded client, following no redirects.
        client_id: Id of the client.
        client_secret: Its secret; empty: it has none.
        method: How it authenticates, as in ``OAuthClient``.

    Raises:
        TokenRefusedError: The server refuses the grant or the client.
        OAuthError: The answer has no usable token.
        httpx.HTTPError: The server cannot be reached.
    """
    response = await post_as_client(
        url, form, http, client_id=client_id, client_secret=client_secret, method=method
    )
    return read_token_response(response, url, check="sign in again")


async def post_as_client(
    url: str,
    form: Mapping[str, str],
    http: httpx.AsyncClient,
    *,
    client_id: str,
    client_secret: str,
    method: str,
) -> httpx.Response:
    """Return the answer to a form that is sent in the name of a client; see ``request_tokens``."""
    headers = {"accept": "application/json"}
    fields = {**form, "client_id": client_id}  # some servers look for it here with Basic as well
    if method == "client_secret_basic":
        pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif method == "client_secret_post":
        fields["client_secret"] = client_secret
    response = await http.post(url, data=fields, headers=headers, follow_redirects=False)
    if response.status_code == _UNKNOWN_CLIENT and headers.pop("authorization", ""):
        fields["client_secret"] = client_secret  # registered for the form, which no metadata says
        response = await http.post(url, data=fields, headers=headers, follow_redirects=False)
    return response
