"""The tool that calls a service with a credential, a signature, or both."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from heartbit_site.base.credentials import (
    ApiKeyCredential,
    BasicCredential,
    BearerCredential,
    OAuthClientCredential,
    SigningCredential,
)
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from heartbit_site.base.webhook_signature import signature_headers
from tools.credentials.hiding import hide_secrets
from tools.credentials.http_auth import auth_headers
from tools.credentials.oauth import forget_token
from tools.texts import http_messages as messages


@tool(
    effect=Effect.AT_MOST_ONCE,
    timeout_seconds=60,
    tags=("connector", "network"),
    # An account may read private data, and the label belongs to the tool, with or without account.
    labels=tuple(Label),
    summary="{method} {url}",
)
async def webhook(
    context: ToolContext,
    target: BearerCredential | ApiKeyCredential | BasicCredential | OAuthClientCredential | None,
    signing: SigningCredential | None,
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"],
    url: messages.Url,
    json: messages.JsonBody = None,
    body: messages.TextBody = None,
    headers: messages.Headers = None,
) -> str:
    """Call a service's API or webhook with the account that is stored for it.

    Give the body either as json or as body (with a Content-Type header), or none. Authorization is
    added to the request and must not be given. Redirects are not followed: the answer shows where
    one leads to.
    """
    sent = messages.read_headers(headers) | {"idempotency-key": context.idempotency_key}
    content = messages.read_body(json, body, sent)
    if signing is not None:
        secrets = [signing.secret.get_secret_value()]
        message_id = f"msg_{context.run_id.hex}_{context.call_id}".replace(".", "_")
        sent |= signature_headers(secrets, message_id, datetime.now(UTC), content or b"")
    authorization = await auth_headers(target, url, context.http) if target is not None else {}
    response = await context.http.request(
        method, url, content=content, headers=sent | authorization, follow_redirects=False
    )
    if response.status_code == 401 and isinstance(target, OAuthClientCredential):
        forget_token(target)
    token = authorization.get("authorization", "").partition(" ")[2]
    return hide_secrets(messages.describe(response), target, signing, also=(token,))
