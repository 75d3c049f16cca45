"""The two halves of a sign-in, before and after the person visits the authorization server."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from mcp.client.auth import OAuthRegistrationError, PKCEParameters
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import issuers_match, union_scopes
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import ValidationError

from heartbit_site.base.credentials import OAuthAppCredential
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import visible
from tools.credentials.oauth import TokenAnswer
from tools.sign_in.discovery import AuthorizationServer, discover
from tools.sign_in.errors import SignInError
from tools.sign_in.plan import OAuthClient, SignInPlan, client_metadata
from tools.sign_in.requests import request_tokens

if TYPE_CHECKING:
    import httpx

_CREATED: Final = (200, 201)
_BASIC: Final = "client_secret_basic"
_POST: Final = "client_secret_post"
_NONE: Final = "none"


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
        app: A client registered there beforehand, or None.
        document_url: Address of Heartbit's metadata document; empty if it is not public.
        redirect_uri: Address that people return to.

    Raises:
        SignInError: The app belongs to another server, or the server accepts no unknown client.
    """
    if app is not None:
        if not issuers_match(app.issuer, server.issuer):
            raise SignInError(
                f"The OAuth app is for {app.issuer}, but the MCP server names {server.issuer}: "
                "choose another app."
            )
        secret = app.client_secret.get_secret_value()
        return OAuthClient(app.client_id, secret, _method(server) if secret else _NONE)
    if server.metadata.client_id_metadata_document_supported and document_url:
        return OAuthClient(document_url, "", _NONE)
    if server.metadata.registration_endpoint is not None:
        return await _registered(server, http, redirect_uri)
    raise SignInError(
        f"{server.issuer} accepts only registered clients: register Heartbit there with the "
        f"redirect URI {redirect_uri}, and add the client as a credential of the type OAuth app."
    )


def _method(server: AuthorizationServer) -> str:
    """Return how to send a secret; the default is Basic (RFC 8414)."""
    known = server.metadata.token_endpoint_auth_methods_supported
    return _POST if known and _BASIC not in known else _BASIC


async def _registered(
    server: AuthorizationServer, http: httpx.AsyncClient, redirect_uri: str
) -> OAuthClient:
    wanted = client_metadata(redirect_uri)
    known = server.metadata.token_endpoint_auth_methods_supported or (_NONE,)
    wanted["token_endpoint_auth_method"] = next(
        (each for each in (_NONE, _BASIC, _POST) if each in known), _BASIC
    )
    if server.scope:
        wanted["scope"] = server.scope
    response = await http.post(str(server.metadata.registration_endpoint), json=wanted)
    if response.status_code not in _CREATED:
        raise SignInError(
            f"{server.issuer} did not register Heartbit (HTTP {response.status_code}): register "
            "it there manually, and add the client as a credential of the type OAuth app."
        )
    try:
        made = OAuthClientInformationFull.model_validate(parse_untrusted_json(response.content))
        check_registration_usable(made)
    except (UntrustedJSONError, ValidationError, OAuthRegistrationError):
        raise SignInError(
            f"{server.issuer} registered Heartbit as a type of client that it cannot be."
        ) from None
    secret = made.client_secret or ""
    method = made.token_endpoint_auth_method or (_method(server) if secret else _NONE)
    return OAuthClient(made.client_id, secret, method)


_MOST_WORDS = 300


async def begin(
    url: str,
    http: httpx.AsyncClient,
    *,
    app: OAuthAppCredential | None,
    redirect_uri: str,
    document_url: str,
    scope: str = "",
) -> SignInPlan:
    """Determine where a person signs in, and as which client.

    Args:
        url: Address of the MCP server.
        http: The guarded client, following no redirects.
        app: The client registered beforehand, or None.
        redirect_uri: Address that the person returns to.
        document_url: Address of the metadata document; empty if it is not public.
        scope: Scopes to request in addition to those that the server names.

    Raises:
        SignInError: No safe sign-in is possible.
        httpx.HTTPError: A server cannot be reached.
    """
    server = await discover(url, http)
    client = await client_for(
        server, http, app=app, document_url=document_url, redirect_uri=redirect_uri
    )
    return _plan(server, client, redirect_uri, union_scopes(scope, server.scope) or "")


def _plan(
    server: AuthorizationServer, client: OAuthClient, redirect_uri: str, scope: str
) -> SignInPlan:
    metadata = server.metadata
    return SignInPlan(
        issuer=server.issuer,
        authorization_url=str(metadata.authorization_endpoint),
        token_url=str(metadata.token_endpoint),
        revocation_url=str(metadata.revocation_endpoint or ""),
        resource=server.resource,
        scope=scope,
        names_itself=bool(metadata.authorization_response_iss_parameter_supported),
        client_id=client.id,
        client_secret=client.secret,
        method=client.method,
        redirect_uri=redirect_uri,
        verifier=PKCEParameters.generate().code_verifier,
        state=secrets.token_urlsafe(32),
    )


def authorization_link(plan: SignInPlan) -> str:
    """Return the address at which the person signs in."""
    wanted = {
        "response_type": "code",
        "client_id": plan.client_id,
        "redirect_uri": plan.redirect_uri,
        "state": plan.state,
        "code_challenge": plan.challenge,
        "code_challenge_method": "S256",
        "resource": plan.resource,
    }
    if plan.scope:
        wanted["scope"] = plan.scope
        if "offline_access" in plan.scope.split():
            wanted["prompt"] = "consent"
    parts = urlsplit(plan.authorization_url)
    query = "&".join(filter(None, [parts.query, urlencode(wanted)]))
    return urlunsplit(parts._replace(query=query, fragment=""))


async def finish(
    plan: SignInPlan, answer: Mapping[str, str], http: httpx.AsyncClient
) -> TokenAnswer:
    """Exchange the code that a person returned with for tokens.

    Args:
        plan: The plan of the sign-in that the answer belongs to.
        answer: Parameters of the authorization response.
        http: The guarded client, following no redirects.

    Raises:
        SignInError: The answer belongs to another server or sign-in, or is a refusal.
        OAuthError: The server returns no token.
        httpx.HTTPError: The server cannot be reached.
    """
    if not hmac.compare_digest(answer.get("state", "").encode(), plan.state.encode()):
        raise SignInError("The answer belongs to another sign-in: begin again.")
    issuer = answer.get("iss")
    if issuer != plan.issuer and (issuer is not None or plan.names_itself):
        raise SignInError(
            "The answer comes from a different authorization server: begin again, and if it "
            "happens again, remove the MCP server."
        )
    if "error" in answer:
        words = visible(answer.get("error_description") or answer["error"])[:_MOST_WORDS]
        raise SignInError(f"{plan.issuer} refused: {words.rstrip('.')}.")
    code = answer.get("code", "")
    if not code:
        raise SignInError(f"{plan.issuer} sent you back without a code: begin again.")
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": plan.redirect_uri,
        "code_verifier": plan.verifier,
        "resource": plan.resource,
    }
    return await request_tokens(plan.token_url, form, http, plan.client)
