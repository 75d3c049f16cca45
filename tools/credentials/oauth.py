"""Access tokens of OAuth 2 clients (RFC 6749 sections 4.4 and 5), cached in the process."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

if TYPE_CHECKING:
    import httpx

    from heartbit_site.base.credentials import OAuthClientCredential

_MOST_CHARACTERS: Final = 16_000
_DEFAULT_SECONDS: Final = 300.0  # if the server does not say
_LONGEST_SECONDS: Final = 24 * 3600.0
_REFUSALS: Final = (400, 401, 403)


class OAuthError(HeartbitError):
    """The authorization server returned no access token."""


class TokenRefusedError(OAuthError):
    """The authorization server refuses the client or its grant; retrying cannot help."""


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """Tokens that a server gave.

    Attributes:
        seconds: Lifetime of the access token.
        refresh_token: Empty if the server sent none.
        scope: Granted scopes; empty if the server did not say.
    """

    access_token: str
    seconds: float
    refresh_token: str = ""
    scope: str = ""


def read_token_response(response: httpx.Response, url: str, *, check: str) -> TokenAnswer:
    """Return the tokens of a response.

    Args:
        response: The response.
        url: Address of the token endpoint, for messages.
        check: End of the sentence about a refusal: the remedy.

    Raises:
        TokenRefusedError: The server refuses.
        OAuthError: The response has no usable token. No message contains a secret.
    """
    if not response.is_success:
        # The response body is left out: it may repeat the secret.
        kind = TokenRefusedError if response.status_code in _REFUSALS else OAuthError
        raise kind(f"{url} returned no access token (HTTP {response.status_code}): {check}.")
    try:
        answer = parse_untrusted_json(response.content)
    except UntrustedJSONError:
        answer = None
    if not isinstance(answer, dict) or not _is_token(answer.get("access_token")):
        raise OAuthError(f"{url} returned no access token: check that it is the token URL.")
    token = str(answer["access_token"])
    if not token.isascii() or not token.isprintable():
        raise OAuthError(f"{url} returned an access token with characters that HTTP cannot carry.")
    if str(answer.get("token_type", "bearer")).lower() != "bearer":
        raise OAuthError(
            f"{url} returned a token of another type than Bearer, which is not supported."
        )
    again, scope = answer.get("refresh_token"), answer.get("scope")
    return TokenAnswer(
        token,
        _seconds(answer.get("expires_in")),
        str(again) if _is_token(again) else "",
        scope[:_MOST_CHARACTERS] if isinstance(scope, str) else "",
    )


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MOST_CHARACTERS


def _seconds(value: Any) -> float:
    if isinstance(value, str) and value.isdigit():
        value = float(value[:9])
    if not isinstance(value, int | float) or isinstance(value, bool):
        value = _DEFAULT_SECONDS
    return min(float(value), _LONGEST_SECONDS)


_MOST_TOKENS = 1_000
_MARGIN_SECONDS = 30.0

_tokens: dict[OAuthClientCredential, tuple[str, float]] = {}


async def access_token(credential: OAuthClientCredential, http: httpx.AsyncClient) -> str:
    """Return an access token that is valid for at least some seconds.

    Args:
        credential: The client.
        http: The guarded client.

    Raises:
        OAuthError: The server refuses, or its response has no token. No message contains a secret.
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
    if response.status_code in (400, 401):  # some servers accept both only in the form
        del headers["authorization"]
        form |= {"client_id": client, "client_secret": secret}
        response = await http.post(
            credential.token_url, data=form, headers=headers, follow_redirects=False
        )
    answer = read_token_response(
        response, credential.token_url, check="check the id, the secret and the scope of the client"
    )
    return answer.access_token, answer.seconds
