"""The client that the conformance suite drives to sign in: ``... URL``.

The steps are the product's own; the suite's authorization server signs in whoever asks.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr

from heartbit_site.base.credentials import OAuthAppCredential
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tests.interop.servers.conformance import call_all
from tools.mcp.endpoints import McpEndpoint
from tools.mcp.errors import TokenNotAcceptedError
from tools.sign_in.discovery import discover
from tools.sign_in.flow import authorization_link, begin, finish

REDIRECT = "http://localhost:3000/callback"
DOCUMENT = "https://conformance-test.local/client-metadata.json"
MOST_SIGN_INS = 3


async def main(url: str) -> None:
    """Sign in, call every tool, and sign in again for the scopes that a call lacked."""
    context: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    scope = ""
    headers: tuple[tuple[str, str], ...] = ()
    for _ in range(MOST_SIGN_INS):
        try:
            await call_all(McpEndpoint(1, "conformance", url=url, headers=headers))
        except TokenNotAcceptedError as error:
            scope = f"{scope} {error.scope}".strip()
            headers = (("authorization", f"Bearer {await token(url, context, scope)}"),)
        else:
            return
    raise SystemExit("the server wants ever more")


async def token(url: str, context: dict[str, Any], scope: str) -> str:
    async with GuardedClient(allow=parse_allow("localhost:*"), follow_redirects=False) as http:
        app = None
        if "client_id" in context:
            app = OAuthAppCredential(
                issuer=(await discover(url, http)).issuer,
                client_id=context["client_id"],
                client_secret=SecretStr(context.get("client_secret", "")),
            )
        plan = await begin(
            url, http, app=app, redirect_uri=REDIRECT, document_url=DOCUMENT, scope=scope
        )
        answer = await http.get(authorization_link(plan))
        place = urlsplit(answer.headers["location"])
        tokens = await finish(plan, dict(parse_qsl(place.query)), http)
    return tokens.access_token


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
