"""Errors in OpenAI's form: ``{"error": {message, type, param, code}}``."""

from __future__ import annotations

import logging
from typing import Any, Final

from django.http import JsonResponse

from heartbit_site.api.errors import (
    TooManyRequestsError,
    database_problem,
    problem_code,
    status_of,
)
from heartbit_site.base.errors import HeartbitError

logger = logging.getLogger("django.request")

#: Types by status; OpenAI's clients choose their exception by the status alone.
_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class RequestError(HeartbitError):
    """A request that this API does not take.

    Attributes:
        parameter: The part of the body that is wrong.
    """

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


def error_body(status: int, code: str, message: str, parameter: str | None = None) -> Any:
    """Return an error as JSON."""
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def refusal(error: HeartbitError) -> JsonResponse:
    """Return the response to one of Heartbit's own errors."""
    status = 400 if isinstance(error, RequestError) else status_of(error)
    parameter = error.parameter if isinstance(error, RequestError) else None
    body = error_body(status, problem_code(type(error)), str(error), parameter)
    response = JsonResponse(body, status=status)
    if isinstance(error, TooManyRequestsError):
        response["Retry-After"] = str(error.seconds)
    # Another try of the same request would fail alike, except after these.
    response["x-should-retry"] = "true" if status in (429, 503) else "false"
    return response


def defect(path: str, error: Exception) -> JsonResponse:
    """Return the response to an error of the server, which its log describes."""
    away = database_problem(error)
    if away is not None:
        body = error_body(503, "unavailable", "The database is unavailable: try again in a moment.")
        return JsonResponse(body, status=503, headers={"Retry-After": "2"})
    logger.error("%s failed", path, exc_info=error)
    return JsonResponse(
        error_body(500, "internal", "The server failed; its log says where."), status=500
    )
