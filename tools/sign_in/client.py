"""Heartbit as a client of an authorization server: pre-registered, by a document, or registered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp.client.auth import OAuthRegistrationError
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import ValidationError

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from tools.sign_in.client_metadata import client_metadata
from tools.sign_in.errors import SignInError

if TYPE_CHECKING:
    import httpx

    from heartbit_site.base.credentials import OAuthAppCredential
    from tools.sign_in.discovery import AuthorizationServer

_CREATED: Final = (200, 201)
_BASIC: Final = "client_secret_basic"
_POST: Final = "client_secret_post"
_NONE: Final = "none"


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client as an authorization server knows it.

    Attributes:
        secret: Empty: it has none.
        method: How it authenticates: none, client_secret_basic or client_secret_post.
    """

    id: str
    secret: str
    method: str


async def client_for(
    server: AuthorizationServer,
    http: httpx.AsyncClient,
    *,
    app: OAuthAppCredential | None,
    document_url: str,
    redirect_uri: str,
) -> OAuthClient:
    """Return the client to sign in with.

    Args:
        server: The authorization server.
        http: The guarded client.
        app: The client that was registered there beforehand; None: there is none.
        document_url: Address of Heartbit's metadata document; empty: it is not public.
        redirect_uri: Address that people return to.

    Raises:
        SignInError: The app is another server's, or the server accepts no unknown client.
    """
    if app is not None:
        if not issuers_match(app.issuer, server.issuer):
            raise SignInError(
                f"The OAuth app is for {app.issuer}, and the MCP server names {server.issuer}: "
                "choose another app."
            )
        secret = app.client_secret.get_secret_value()
        return OAuthClient(app.client_id, secret, _method(server) if secret else _NONE)
    if server.takes_documents and document_url:
        return OAuthClient(document_url, "", _NONE)
    if server.registration_url:
        return await _registered(server, http, redirect_uri)
    raise SignInError(
        f"{server.issuer} accepts only clients that it knows: register Heartbit there with the "
        f"redirect URI {redirect_uri}, and add the client as a credential of the type OAuth app."
    )


def _method(server: AuthorizationServer) -> str:
    """Return how to send a secret; a server that does not say takes Basic (RFC 8414)."""
    return _POST if _BASIC not in (server.token_methods or (_BASIC,)) else _BASIC


async def _registered(
    server: AuthorizationServer, http: httpx.AsyncClient, redirect_uri: str
) -> OAuthClient:
    wanted = client_metadata(redirect_uri)
    known = server.token_methods or (_NONE,)
    wanted["token_endpoint_auth_method"] = next(
        (each for each in (_NONE, _BASIC, _POST) if each in known), _BASIC
    )
    if server.scope:
        wanted["scope"] = server.scope
    response = await http.post(server.registration_url, json=wanted)
    if response.status_code not in _CREATED:
        raise SignInError(
            f"{server.issuer} does not register Heartbit (HTTP {response.status_code}): register "
            "it there by hand, and add the client as a credential of the type OAuth app."
        )
    try:
        made = OAuthClientInformationFull.model_validate(parse_untrusted_json(response.content))
        check_registration_usable(made)
    except (UntrustedJSONError, ValidationError, OAuthRegistrationError):
        raise SignInError(
            f"{server.issuer} registers Heartbit as a client that it cannot be."
        ) from None
    secret = made.client_secret or ""
    method = made.token_endpoint_auth_method or (_method(server) if secret else _NONE)
    return OAuthClient(made.client_id, secret, method)
