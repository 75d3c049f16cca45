"""HTTP requests from a model's arguments, and responses as text for a model."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any, Final

import httpx
from pydantic import Field

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.transport import FROM_PRIVATE_HOST
from tools.texts.header_names import REFUSED_HEADERS

Url = Annotated[str, Field(description="Complete http or https URL.", max_length=8_000)]
Headers = Annotated[
    dict[str, str] | None, Field(description="Request headers, such as Accept.", max_length=40)
]
JsonBody = Annotated[Any, Field(description="Body to send as JSON; omit it to use body.")]
TextBody = Annotated[str | None, Field(description="Body to send as text.")]

_SHOWN_CHARACTERS = 200_000
_TEXT_TYPES = ("json", "xml", "yaml", "csv", "javascript", "html", "x-www-form-urlencoded")


class UnusableRequestError(HeartbitError):
    """The arguments do not form one HTTP request."""


#: Line of a described response whose host is open to tools by HEARTBIT_HTTP_ALLOWLIST alone: its
#: text is private data. A public host that sends the line only makes its own text private.
PRIVATE_HOST: Final = "Host: in the private network"


def read_headers(headers: dict[str, str] | None) -> dict[str, str]:
    """Return the headers with names in lower case.

    Raises:
        UnusableRequestError: A model must not set one of them, or HTTP cannot carry one.
    """
    checked = {name.lower().strip(): value for name, value in (headers or {}).items()}
    refused = sorted(REFUSED_HEADERS & checked.keys())
    if refused:
        raise UnusableRequestError(f"The header {refused[0]!r} is set by the client: omit it.")
    try:
        import httpx  # noqa: PLC0415  every command imports this module for its tools' definitions

        httpx.Headers(checked).raw  # noqa: B018  # encodes every value
    except UnicodeEncodeError:
        raise UnusableRequestError(
            "A header has characters that HTTP cannot carry: remove them."
        ) from None
    return checked


def read_body(json: Any, body: str | None, headers: dict[str, str]) -> bytes | None:
    """Return the body of a request, and set its type in the headers if it is JSON.

    Raises:
        UnusableRequestError: There are two bodies, or one that UTF-8 cannot carry.
    """
    if json is not None and body is not None:
        raise UnusableRequestError("Give json or body, not both.")
    if json is not None:
        body = json_text.dumps(json, ensure_ascii=False, separators=(",", ":"))
        headers.setdefault("content-type", "application/json")
    try:
        return None if body is None else body.encode()
    except UnicodeEncodeError:
        raise UnusableRequestError(
            "The body has a lone surrogate, which UTF-8 cannot carry: remove it."
        ) from None


def describe(response: httpx.Response) -> str:
    """Return a response for a model: status, content type and the body as text."""
    content_type = response.headers.get("content-type", "unknown")[:200]
    lines = [f"HTTP {response.status_code} {response.reason_phrase}".rstrip()]
    if response.history:
        lines.append(f"Final URL: {str(response.url)[:2_000]}")
    if response.has_redirect_location:
        lines.append(f"Location: {response.headers['location'][:2_000]}")
    lines.append(f"Content-Type: {content_type}")
    if response.extensions.get(FROM_PRIVATE_HOST):
        lines.append(PRIVATE_HOST)
    if not response.content:
        return "\n".join([*lines, "", "(empty body)"])
    if not is_text(content_type, response.content):
        return "\n".join([*lines, "", f"(binary body of {len(response.content)} bytes)"])
    return "\n".join([*lines, "", response.text[:_SHOWN_CHARACTERS]])


def is_text(content_type: str, content: bytes) -> bool:
    """Return True if a body can be read as text."""
    kind = content_type.lower()
    if kind.startswith("text/") or any(name in kind for name in _TEXT_TYPES):
        return True
    return kind == "unknown" and b"\x00" not in content[:1_000]
