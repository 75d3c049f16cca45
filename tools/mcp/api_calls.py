"""Calls of an API's operations, as tools of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import httpx

from heartbit_site.base.credentials import CredentialType, QueryKeyCredential
from heartbit_site.base.http.errors import OutboundLimitError
from heartbit_site.base.toolspec import Effect, ToolContext, ToolSpec
from tools.credentials.hiding import hide_secrets
from tools.credentials.http_auth import HttpCredential, authorize
from tools.openapi.document import OpenApiError
from tools.openapi.requests import ApiRequest, build_request
from tools.texts import http_messages as messages

if TYPE_CHECKING:
    from tools.models import McpServer

_MOST_OF_ERROR: Final = 4_000
_MAYBE: Final = " It may still have had its effect."
#: Errors before anything was sent.
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


async def call_operation(
    server: McpServer,
    tool: ToolSpec,
    context: ToolContext,
    credential: CredentialType | None,
    arguments: Mapping[str, Any],
) -> str:
    """Call an operation once, and return the response as text. Redirects are not followed.

    Args:
        server: The API.
        tool: The tool's pinned definition, with its request.
        context: Context of the call.
        credential: The credential that the API names, if it names one.
        arguments: Checked arguments.

    Raises:
        OpenApiError: The API cannot be reached or answers with an error; the text is for the model.
        UnusableCredentialError: The credential is for another URL; nothing was sent.
    """
    if tool.request is None:
        raise TypeError(f"the tool {tool.name} has no request")
    request = build_request(tool.request, server.url, arguments)
    header = server.idempotency_header or tool.request["idempotency_header"]
    if header and tool.effect is not Effect.PURE:
        request.headers[header.lower()] = context.idempotency_key
    sent, token = await _authorized(request, credential, context.http)
    maybe = "" if tool.effect is Effect.PURE else _MAYBE
    try:
        response = await context.http.request(
            sent.method,
            sent.url,
            headers=sent.headers,
            content=sent.content,
            follow_redirects=False,
            timeout=float(server.timeout_seconds),
        )
    except _UNSENT as error:
        said = hide_secrets(_said(error), credential, also=(token,))
        raise OpenApiError(f"The API {server.name} cannot be reached: {said}.") from None
    except (httpx.HTTPError, OutboundLimitError) as error:
        said = hide_secrets(_said(error), credential, also=(token,))
        raise OpenApiError(f"The API {server.name} gave no answer: {said}.{maybe}") from None
    text = hide_secrets(messages.describe(response), credential, also=(token,))
    if response.is_success:
        return text
    if not response.is_server_error:
        maybe = ""  # it refuses the request
    raise OpenApiError(f"The API {server.name} answered:\n{text[:_MOST_OF_ERROR]}{maybe}")


def _said(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__


async def _authorized(
    request: ApiRequest, credential: CredentialType | None, http: httpx.AsyncClient
) -> tuple[ApiRequest, str]:
    """Return a request with its credential, and the access token in it."""
    if not isinstance(credential, HttpCredential | QueryKeyCredential):
        return request, ""
    try:
        url, headers = await authorize(credential, request.url, http)
    except httpx.HTTPError as error:
        raise OpenApiError(f"The request for an access token failed: {_said(error)}.") from None
    token = headers.get("authorization", "").partition(" ")[2]
    return replace(request, url=url, headers=request.headers | headers), token
