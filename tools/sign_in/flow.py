"""The two halves of a sign-in, between which its person is at the authorization server."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit, urlunsplit

from mcp.client.auth import PKCEParameters
from mcp.client.auth.utils import union_scopes

from heartbit_site.base.credentials import OAuthAppCredential
from heartbit_site.base.visible_text import visible
from tools.credentials.oauth import TokenAnswer
from tools.sign_in.client import client_for
from tools.sign_in.discovery import discover
from tools.sign_in.errors import SignInError
from tools.sign_in.plan import SignInPlan
from tools.sign_in.token_request import request_tokens

if TYPE_CHECKING:
    import httpx


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
    """Find out where a person signs in, and as which client.

    Args:
        url: Address of the MCP server.
        http: The guarded client, following no redirects.
        app: The client that was registered beforehand, if there is one.
        redirect_uri: Address that the person returns to.
        document_url: Address of the metadata document; empty: it is not public.
        scope: Scopes to ask for beside those that the server names.

    Raises:
        SignInError: There is no safe way to sign in.
        httpx.HTTPError: A server cannot be reached.
    """
    server = await discover(url, http)
    client = await client_for(
        server, http, app=app, document_url=document_url, redirect_uri=redirect_uri
    )
    return SignInPlan(
        issuer=server.issuer,
        authorization_url=server.authorization_url,
        token_url=server.token_url,
        revocation_url=server.revocation_url,
        resource=server.resource,
        scope=union_scopes(scope, server.scope) or "",
        names_itself=server.names_itself,
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
        SignInError: The answer is another server's, another sign-in's, or a refusal.
        OAuthError: The server gives no token.
        httpx.HTTPError: It cannot be reached.
    """
    if not hmac.compare_digest(answer.get("state", "").encode(), plan.state.encode()):
        raise SignInError("The answer belongs to another sign-in: begin again.")
    issuer = answer.get("iss")
    if issuer != plan.issuer and (issuer is not None or plan.names_itself):
        raise SignInError(
            "The answer comes from another authorization server than the one that was asked: begin "
            "again, and if it happens again, remove the MCP server."
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
    return await request_tokens(
        plan.token_url,
        form,
        http,
        client_id=plan.client_id,
        client_secret=plan.client_secret,
        method=plan.method,
    )
