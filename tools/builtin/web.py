"""Plain HTTP for agents, through the guarded client of the call's context."""

from __future__ import annotations

from typing import Literal

from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.texts import http_messages as messages

_LABELS = (Label.UNTRUSTED, Label.OUTBOUND)


# GET is a safe method (RFC 9110 section 9.2.1), so repeatable: no intent, no key.
@tool(effect=Effect.PURE, timeout_seconds=40, tags=("builtin", "network"), labels=_LABELS)
async def http_get(
    context: ToolContext, url: messages.Url, headers: messages.Headers = None
) -> str:
    """Fetch a URL with GET and read the answer: status, content type and the body as text.

    Use it for APIs and raw files. Redirects are followed. Binary content is described, not shown.
    Only public internet addresses can be reached.
    """
    response = await context.http.get(url, headers=messages.read_headers(headers))
    return messages.describe(response)


@tool(
    effect=Effect.AT_MOST_ONCE,
    timeout_seconds=40,
    tags=("builtin", "network"),
    labels=_LABELS,
    summary="{method} {url}",
)
async def http_request(
    context: ToolContext,
    method: Literal["POST", "PUT", "PATCH", "DELETE"],
    url: messages.Url,
    json: messages.JsonBody = None,
    body: messages.TextBody = None,
    headers: messages.Headers = None,
) -> str:
    """Send an HTTP request that changes something at a remote service, and read the answer.

    Give the body either as json or as body (with a Content-Type header), or none. The request is
    sent once and never repeated by itself; to read a URL use http_get.
    """
    # A service that honours the key recognises a later retry that a person decides on.
    sent = messages.read_headers(headers) | {"idempotency-key": context.idempotency_key}
    content = messages.read_body(json, body, sent)
    response = await context.http.request(method, url, content=content, headers=sent)
    return messages.describe(response)
