"""An MCP server that people sign in to, with its authorization server: `oauth_server.py PORT`.

Both are the official SDK's; accounts and tokens are kept here. Each request at /authorize is signed
in as the next person. A refresh token is good for one use: the second one ends the grant. `GET
/counts` has what was asked for; `POST /revoke-all` ends all access tokens, `POST /forget-all` all.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from typing import Any

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import (
    AuthSettings,
    ClientRegistrationOptions,
    RevocationOptions,
)
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

PORT, LIFE = int(sys.argv[1]), 3600
ROOT = f"http://127.0.0.1:{PORT}"
KNOWN = OAuthClientInformationFull(
    client_id="known",
    client_secret="known-secret",
    redirect_uris=["http://127.0.0.1/oauth/callback/"],
    token_endpoint_auth_method="client_secret_post",
    scope="shop",
)


class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Clients, codes and tokens in memory."""

    def __init__(self) -> None:
        self.clients = {KNOWN.client_id: KNOWN}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.spent: set[str] = set()
        self.counts = {"registered": 0, "codes": 0, "refreshes": 0, "reused": 0}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client: OAuthClientInformationFull) -> None:
        self.counts["registered"] += 1
        self.clients[client.client_id] = client

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(20),
            scopes=params.scopes or ["shop"],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=f"person-{len(self.codes)}",
        )
        self.codes[code.code] = code
        return construct_redirect_uri(
            str(params.redirect_uri), code=code.code, state=params.state, iss=ROOT
        )

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, code: AuthorizationCode
    ) -> OAuthToken:
        self.counts["codes"] += 1
        self.codes[code.code] = code.model_copy(update={"expires_at": 0})
        return self._tokens(client, code.scopes, code.resource, code.subject)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, token: str
    ) -> RefreshToken | None:
        if token in self.spent:
            self.counts["reused"] += 1
            self.refresh.clear()
        return self.refresh.get(token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(token.token, None) is None:
            raise TokenError("invalid_grant", "spent")
        self.counts["refreshes"] += 1
        self.spent.add(token.token)
        return self._tokens(client, scopes, token.resource, token.subject)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def _tokens(
        self,
        client: OAuthClientInformationFull,
        scopes: list[str],
        resource: str | None,
        subject: str | None,
    ) -> OAuthToken:
        facts: dict[str, Any] = {"client_id": client.client_id, "scopes": scopes}
        facts |= {"resource": resource, "subject": subject}
        access = AccessToken(
            token=f"access-canary-{secrets.token_urlsafe(16)}",
            expires_at=int(time.time()) + LIFE,
            **facts,
        )
        again = RefreshToken(token=f"refresh-canary-{secrets.token_urlsafe(16)}", **facts)
        self.access[access.token], self.refresh[again.token] = access, again
        return OAuthToken(
            access_token=access.token,
            expires_in=LIFE,
            scope=" ".join(scopes),
            refresh_token=again.token,
        )


accounts = Accounts()
server = MCPServer(
    "vault",
    auth_server_provider=accounts,
    auth=AuthSettings(
        issuer_url=ROOT,
        resource_server_url=f"{ROOT}/mcp",
        required_scopes=["shop"],
        validate_token_resource=True,
        revocation_options=RevocationOptions(enabled=True),
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["shop"], default_scopes=["shop"]
        ),
    ),
)


@server.tool()
def whose(context: Context) -> str:
    """Return whose token the request had, and the token."""
    token = (context.headers or {})["authorization"].removeprefix("Bearer ")
    return f"{accounts.access[token].subject} with {token}"


@server.custom_route("/counts", ["GET"])
async def counts(request: Request) -> Response:
    live = len(accounts.access) + len(accounts.refresh)
    return Response(json.dumps({**accounts.counts, "live": live}), media_type="application/json")


@server.custom_route("/revoke-all", ["POST"])
async def revoke_all(request: Request) -> Response:
    accounts.access.clear()
    return JSONResponse({})


@server.custom_route("/forget-all", ["POST"])
async def forget_all(request: Request) -> Response:
    accounts.access.clear()
    accounts.refresh.clear()
    return JSONResponse({})


if __name__ == "__main__":
    server.run("streamable-http", port=PORT)
