"""Conversion of a provider's error to one ``ModelError`` with a sentence that gives a remedy."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from agents.llm.adapters.shapes import as_dict, as_list, as_str
from agents.llm.errors import (
    AuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    RequestRejectedError,
    StreamTruncatedError,
)
from agents.llm.text import clean_text, read_object

if TYPE_CHECKING:
    from agents.llm.adapters.endpoint import Endpoint

_DETAIL_LENGTH = 300
# Bounded, and searched only near the beginning: a page with many "<title>" would take seconds.
_TITLE = re.compile(r"<title[^>]{0,200}>(.{0,200}?)</title>", re.IGNORECASE | re.DOTALL)
_HEAD_CHARACTERS = 8_000
_FAILED_FINISH = re.compile("^error$|malformed|unexpected_tool_call", re.IGNORECASE)
_STATUS = re.compile("[45][0-9][0-9]")
# Groq's code for a malformed call of its own model: the request was valid.
_WRITTEN_BY_MODEL = "tool_use_failed"

# HTTP status that corresponds to an error inside a 200 stream.
_STATUS_OF_KIND = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "timeout_error": 408,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "requests": 429,
    "tokens": 429,
    "api_error": 500,
    "server_error": 500,
    "overloaded_error": 529,
}


def status_error(
    endpoint: Endpoint, status: int, *, headers: Mapping[str, str], body: bytes
) -> ModelError:
    """Return the error for an answer whose HTTP status is not 200."""
    text = body.decode("utf-8", "replace")
    wait = retry_after(headers)
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return _error(endpoint, status, detail=_page_detail(text), wait=wait)
    # Gemini's compatible endpoint wraps its error object in an array.
    payload = as_dict(next(iter(as_list(payload)), payload))
    error = as_dict(payload.get("error", payload))
    kinds, detail = _describe(payload.get("error", payload))
    wait = _retry_delay(error) if wait is None else wait
    if _WRITTEN_BY_MODEL in kinds:
        return StreamTruncatedError(
            f"{endpoint.label} could not read the tool call that the model wrote"
            f"{in_brackets(endpoint, detail)}; try again."
        )
    if status == 429 and _STATUS_OF_KIND.get(kinds[0]) == 402:
        status = 402  # no credit left: waiting does not help
    return _error(endpoint, status, detail=detail, wait=wait)


def body_error(endpoint: Endpoint, body: bytes) -> ModelError | None:
    """Return the error in a 200 answer that is not a stream; None if there is none."""
    error = (read_object(body.decode("utf-8", "replace")) or {}).get("error")
    return event_error(endpoint, error) if error else None


def event_error(endpoint: Endpoint, error: object) -> ModelError:
    """Return the error for an error event inside a stream that began with HTTP 200."""
    kinds, detail = _describe(error)
    known = (_STATUS_OF_KIND.get(kind) for kind in kinds)
    status = next((status for status in known if status), 0)
    if not status and _STATUS.fullmatch(kinds[0]):
        status = int(kinds[0])
    return _error(endpoint, status or 500, detail=detail, wait=None)


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds that the server asks to wait, or None.

    It reads ``retry-after-ms`` and both forms of ``Retry-After``: seconds and an HTTP date.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


def _retry_delay(error: Mapping[str, Any]) -> float | None:
    """Return the seconds that Gemini asks to wait in the body, such as ``"32.5s"``, or None."""
    for detail in as_list(error.get("details")):
        seconds = _number(as_str(as_dict(detail).get("retryDelay")).removesuffix("s"))
        if seconds is not None:
            return seconds
    return None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _describe(error: Any) -> tuple[tuple[str, str], str]:
    """Return an error object's (code, type), the more specific first, and its message."""
    if isinstance(error, str):
        return ("", ""), error
    fields = as_dict(error)
    code, kind = fields.get("code"), fields.get("type")
    said = fields.get("message") or fields.get("detail") or ""
    # Servers that check with pydantic send a list of faults, Mistral's in an object.
    detail = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    raw = as_str(as_dict(fields.get("metadata")).get("raw"))  # OpenRouter: the upstream's message
    if raw and raw not in detail:
        detail = f"{detail}: {raw}"
    return (str(code) if code is not None else "", as_str(kind)), detail


def _page_detail(text: str) -> str:
    """Describe a body that is not JSON: the title of an HTML page, or its text."""
    title = _TITLE.search(text[:_HEAD_CHARACTERS])
    if title:
        return f'an HTML page titled "{title[1].strip()}"'
    if "<html" in text[:2000].lower():
        return "an HTML page"
    return text.strip()


def in_brackets(endpoint: Endpoint, detail: str) -> str:
    """Return a server's text as one line in brackets, truncated and without the key."""
    if endpoint.secret:
        detail = detail.replace(endpoint.secret, "***")
    detail = " ".join(clean_text(detail).split()).rstrip(".")
    if len(detail) > _DETAIL_LENGTH:
        detail = f"{detail[:_DETAIL_LENGTH]}..."
    return f" ({detail})" if detail else ""


def broken(endpoint: Endpoint, error: Exception, *, begun: bool) -> ModelError:
    """Return the error for a connection that failed; ``begun``: in the middle of the answer."""
    if begun:
        return StreamTruncatedError(
            f"{endpoint.label} broke the connection in the middle of its answer; try again."
        )
    return ModelConnectionError(unreachable(endpoint, error))


def unreachable(endpoint: Endpoint, error: Exception) -> str:
    """Describe a server that could not be reached."""
    reason = str(error) or type(error.__cause__ or error).__name__
    return (
        f"{endpoint.label} could not be reached{in_brackets(endpoint, reason)}; check that the "
        "server runs and that the base URL is right."
    )


def ended_early(endpoint: Endpoint) -> StreamTruncatedError:
    """Return the error for a stream that ended without the reason for the answer's end."""
    return StreamTruncatedError(
        f"{endpoint.label} ended its stream in the middle of the answer; try again."
    )


def failed_finish(endpoint: Endpoint, reason: str) -> StreamTruncatedError | None:
    """Return the error for a finish reason by which the answer is not what the model wrote.

    Gemini drops a tool call that it cannot parse, and routers name an error of their provider.
    """
    if not _FAILED_FINISH.search(reason):
        return None
    return StreamTruncatedError(
        f"{endpoint.label} dropped what the model wrote, such as a malformed tool call"
        f"{in_brackets(endpoint, reason)}; try again, and if it persists, simplify the tools' "
        "parameters or choose another model."
    )


def _error(endpoint: Endpoint, status: int, *, detail: str, wait: float | None) -> ModelError:
    where = endpoint.label
    said = in_brackets(endpoint, detail)
    key = endpoint.key_env or "the server's key"
    match status:
        case 401 | 403:
            return AuthenticationError(
                f"{where} refused the key with HTTP {status}{said}; check {key} and that the key "
                "may use this model."
            )
        case 402:
            return AuthenticationError(
                f"{where} says the account has no credit left{said}; add credit or set {key} to "
                "another account's key."
            )
        case 404:
            return ModelNotFoundError(
                f"{where} answered HTTP 404{said}; check the model's name and the base URL."
            )
        case 408:
            return ModelTimeoutError(f"{where} gave up waiting{said}; try again.")
        case 429:
            hint = f" in {wait:.0f} seconds" if wait else " later"
            return RateLimitedError(
                f"{where} limits the rate of requests{said}; try again{hint}.", retry_after=wait
            )
        case status if status >= 500:
            return OverloadedError(
                f"{where} failed or is overloaded, HTTP {status}{said}; try again later.",
                retry_after=wait,
            )
        case status if status < 400:
            return RequestRejectedError(
                f"{where} answered HTTP {status} instead of a model's answer; check the base URL."
            )
        case _:
            return RequestRejectedError(
                f"{where} rejected the request with HTTP {status}{said}; repeating it cannot help."
            )
