"""Conversion of errors of pydantic-ai, or of an SDK under it, to one ``ModelError``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import aiohttp
import httpx
import httpx2
from pydantic_ai import exceptions as theirs

from agents.llm.adapters.failures import broken, event_error, in_brackets, status_error
from agents.llm.errors import (
    ModelError,
    ModelTimeoutError,
    RequestRejectedError,
    StreamTruncatedError,
)

if TYPE_CHECKING:
    from agents.llm.adapters.endpoint import Endpoint

_BROKEN = (httpx.HTTPError, httpx2.HTTPError, aiohttp.ClientError, OSError)

# Status of an error without one, as from gRPC or inside a stream; the order matters.
_STATUS_OF_CATEGORY: tuple[tuple[type[theirs.ModelAPIError], int], ...] = (
    (theirs.ModelQuotaExceededError, 402),
    (theirs.ModelRateLimitError, 429),
    (theirs.ModelUnavailableError, 503),
    (theirs.ModelServerError, 500),
    (theirs.ModelAuthenticationError, 401),
    (theirs.ModelNotFoundError, 404),
    (theirs.ModelRequestRejectedError, 400),
)


def bridged_error(endpoint: Endpoint, error: Exception, *, begun: bool) -> ModelError:
    """Return the ``ModelError``; ``begun`` is True if the answer had started."""
    match error:
        case ModelError():
            return error
        case theirs.ModelTimeoutError() | theirs.ModelRequestTimeout() if not _lost(error):
            return ModelTimeoutError(f"{endpoint.label} did not answer in time; try again.")
        case theirs.ModelConnectionError():
            return broken(endpoint, error, begun=begun)
        case theirs.ModelAPIError() if status := _status(error):
            return _refused(endpoint, error, status=status)
        case theirs.ModelAPIError(body=dict(body), in_stream=True):
            return event_error(endpoint, body.get("error", body))
        case theirs.ModelAPIError() | theirs.UnexpectedModelBehavior():
            return StreamTruncatedError(
                f"{endpoint.label} sent an invalid answer{_said(endpoint, error)}; try "
                "again, and if it persists, check the base URL and the model's name."
            )
        case _ if isinstance(error, _BROKEN):
            return broken(endpoint, error, begun=begun)
        case _:
            return RequestRejectedError(
                f"{endpoint.label} could not be called{_said(endpoint, error)}; check the "
                "provider's settings and the model's name."
            )


def _lost(error: BaseException | None) -> bool:
    """Return True if a lost connection caused an error; httpx-aiohttp reports it as a timeout."""
    while error is not None:
        if isinstance(error, aiohttp.ClientConnectionError):
            return not isinstance(error, aiohttp.ServerTimeoutError)
        error = error.__cause__
    return False


def _status(error: theirs.ModelAPIError) -> int:
    """Return the HTTP status that corresponds to the error, or 0."""
    category = next((s for kind, s in _STATUS_OF_CATEGORY if isinstance(error, kind)), 0)
    if isinstance(error, theirs.ModelHTTPError) and category != 402:
        return error.status_code
    return category


def _refused(endpoint: Endpoint, error: theirs.ModelAPIError, *, status: int) -> ModelError:
    headers: dict[str, str] = {}
    if isinstance(error, theirs.ModelHTTPError) and error.headers:
        headers.update(error.headers)
    if error.retry_after is not None and not headers.keys() & {"retry-after", "retry-after-ms"}:
        headers["retry-after"] = str(error.retry_after)
    body = error.body
    if isinstance(body, bytes):
        text = body.decode("utf-8", "replace")
    else:
        text = body if isinstance(body, str) else json.dumps(body or error.message, default=str)
    return status_error(endpoint, status, headers=headers, body=text.encode("utf-8", "replace"))


def _said(endpoint: Endpoint, error: Exception) -> str:
    """Return the first line of the error's message in brackets."""
    return in_brackets(endpoint, next(iter(str(error).splitlines()), "") or type(error).__name__)
