"""Plain HTTP for agents, through the guarded client of the call's context."""

from __future__ import annotations

from typing import Literal

from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.texts.http_messages import (
    Headers,
    JsonBody,
    TextBody,
    Url,
    describe,
    read_body,
    read_headers,
)

_LABELS = (Label.UNTRUSTED, Label.OUTBOUND)


# GET is a safe method (RFC 9110 section 9.2.1), so repeatable: no intent, no key.
@tool(effect=Effect.PURE, timeout_seconds=40, tags=("builtin", "network"), labels=_LABELS)
async def http_get(context: ToolContext, url: Url, headers: Headers = None) -> str:
    """Fetch a URL with GET and read the answer: status, content type and the body as text.

    Use it for APIs and raw files. Redirects are followed. Binary content is described, not shown.
    Only public internet addresses can be reached.
    """
    response = await context.http.get(url, headers=read_headers(headers))
    return describe(response)


@tool(effect=Effect.AT_MOST_ONCE, timeout_seconds=40, tags=("builtin", "network"), labels=_LABELS)
async def http_request(
    context: ToolContext,
    method: Literal["POST", "PUT", "PATCH", "DELETE"],
    url: Url,
    json: JsonBody = None,
    body: TextBody = None,
    headers: Headers = None,
) -> str:
    """Send an HTTP request that changes something at a remote service, and read the answer.

    Give the body either as json or as body (with a Content-Type header), or none. The request is
    sent once and never repeated by itself; to read a URL use http_get.
    """
    # A service that honours the key recognises a later retry that a person decides on.
    sent = read_headers(headers) | {"idempotency-key": context.idempotency_key}
    content = read_body(json, body, sent)
    response = await context.http.request(method, url, content=content, headers=sent)
    return describe(response)
