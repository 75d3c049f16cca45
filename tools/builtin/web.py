"""Plain HTTP for agents, through the guarded client of the call's context."""

from __future__ import annotations

import json as json_text
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool

if TYPE_CHECKING:
    import httpx

Url = Annotated[str, Field(description="Complete http or https URL.", max_length=8_000)]
Headers = Annotated[
    dict[str, str] | None, Field(description="Request headers, such as Accept.", max_length=40)
]

_LABELS = (Label.UNTRUSTED, Label.OUTBOUND)
_SHOWN_CHARACTERS = 200_000
_TEXT_TYPES = ("json", "xml", "yaml", "csv", "javascript", "html", "x-www-form-urlencoded")
# They control the connection, not the request: a virtual host or a second message in the body.
_REFUSED_HEADERS = frozenset(
    {"connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)


class UnusableRequestError(HeartbitError):
    """The arguments do not form one HTTP request."""


# GET is a safe method (RFC 9110 section 9.2.1), so repeatable: no intent, no key.
@tool(effect=Effect.PURE, timeout_seconds=40, tags=("builtin", "network"), labels=_LABELS)
async def http_get(context: ToolContext, url: Url, headers: Headers = None) -> str:
    """Fetch a URL with GET and read the answer: status, content type and the body as text.

    Use it for APIs and raw files. Redirects are followed. Binary content is described, not shown.
    Only public internet addresses can be reached.
    """
    response = await context.http.get(url, headers=_checked(headers))
    return _described(response)


@tool(effect=Effect.AT_MOST_ONCE, timeout_seconds=40, tags=("builtin", "network"), labels=_LABELS)
async def http_request(
    context: ToolContext,
    method: Literal["POST", "PUT", "PATCH", "DELETE"],
    url: Url,
    json: Annotated[Any, Field(description="Body to send as JSON; omit it to use body.")] = None,
    body: Annotated[str | None, Field(description="Body to send as text.")] = None,
    headers: Headers = None,
) -> str:
    """Send an HTTP request that changes something at a remote service, and read the answer.

    Give the body either as json or as body (with a Content-Type header), or none. The request is
    sent once and never repeated by itself; to read a URL use http_get.
    """
    if json is not None and body is not None:
        raise UnusableRequestError("Give json or body, not both.")
    # A service that honours the key recognises a later retry that a person decides on.
    sent = _checked(headers) | {"idempotency-key": context.idempotency_key}
    content: str | None = body
    if json is not None:
        content = json_text.dumps(json, ensure_ascii=False, separators=(",", ":"))
        sent.setdefault("content-type", "application/json")
    response = await context.http.request(method, url, content=content, headers=sent)
    return _described(response)


def _checked(headers: dict[str, str] | None) -> dict[str, str]:
    """Return the headers with names in lower case; raise if a model must not set one."""
    checked = {name.lower().strip(): value for name, value in (headers or {}).items()}
    refused = sorted(_REFUSED_HEADERS & checked.keys())
    if refused:
        raise UnusableRequestError(f"The header {refused[0]!r} is set by the client: omit it.")
    try:
        import httpx  # noqa: PLC0415  every command imports this module for its tools' definitions

        httpx.Headers(checked).raw  # noqa: B018  # encodes every value
    except UnicodeEncodeError:
        raise UnusableRequestError("A header has characters that HTTP cannot carry.") from None
    return checked


def _described(response: httpx.Response) -> str:
    content_type = response.headers.get("content-type", "unknown")[:200]
    lines = [f"HTTP {response.status_code} {response.reason_phrase}".rstrip()]
    if response.history:
        lines.append(f"Final URL: {str(response.url)[:2_000]}")
    lines.append(f"Content-Type: {content_type}")
    if not response.content:
        return "\n".join([*lines, "", "(empty body)"])
    if not _is_text(content_type, response.content):
        return "\n".join([*lines, "", f"(binary body of {len(response.content)} bytes)"])
    return "\n".join([*lines, "", response.text[:_SHOWN_CHARACTERS]])


def _is_text(content_type: str, content: bytes) -> bool:
    kind = content_type.lower()
    if kind.startswith("text/") or any(name in kind for name in _TEXT_TYPES):
        return True
    return kind == "unknown" and b"\x00" not in content[:1_000]
