"""Answers of token endpoints (RFC 6749 section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

if TYPE_CHECKING:
    import httpx

_MOST_CHARACTERS: Final = 16_000
_DEFAULT_SECONDS: Final = 300.0  # of a server that does not say
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
        refresh_token: Empty: the server gave none.
        scope: Granted scopes; empty: the server did not say.
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
        check: End of the sentence about a refusal: what a person can do.

    Raises:
        TokenRefusedError: The server refuses.
        OAuthError: The answer has no usable token. No text has a secret.
    """
    if not response.is_success:
        # Its words are left out: they may repeat the secret.
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
