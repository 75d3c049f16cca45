"""The format of all errors: problem details (RFC 9457).

    {"type": "urn:heartbit:problem:agent_not_found", "title": "Agent not found", "status": 404,
     "detail": "There is no agent named 'x'.", "code": "agent_not_found",
     "remedy": {"operation": "agents.list_agents", "request": "GET /agents",
                "effect": "lists them", "values": {}}}

The status follows the exception tree; ``code`` is the exception's name, for programs, and
``detail`` one sentence for a person. ``scope`` has a missing scope; ``remedy`` has the operation
that helps, if one is known.
"""

from __future__ import annotations

import logging
import re
from dataclasses import asdict
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from pydantic import ValidationError as PydanticError

from agents.errors import (
    InvalidSignatureError,
    ModelUnreachableError,
    NoSandboxError,
    NotNowError,
    QuotaExceededError,
    StoppedByOperatorError,
)
from agents.housekeeping.archive_files import ArchiveError
from agents.live.valkey import LiveOutputError
from heartbit_site.base.database_faults import database_fault
from heartbit_site.base.errors import (
    ConflictError,
    ForbiddenError,
    HeartbitError,
    NotFoundError,
    Remedy,
)
from heartbit_site.base.reader_process import ReadersBusyError
from heartbit_site.contract.operation import find_operation
from heartbit_site.contract.problem import fault
from memory.errors import MemoryProviderError

logger = logging.getLogger("django.request")

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
PROBLEM = "application/problem+json"
_URN = "urn:heartbit:problem:"
#: Of any request; most have a lower limit (``json_parser.body_limit``).
MOST_BODY_BYTES = 14_000_000


class MalformedBodyError(HeartbitError):
    """The body is not JSON that Heartbit accepts."""


class TooLargeError(HeartbitError):
    """The body is larger than any request needs."""


class TooBusyError(HeartbitError):
    """The process holds the maximum number of bodies."""


class TooSlowError(HeartbitError):
    """The body did not arrive in time."""


class UnauthorizedError(HeartbitError):
    """No API key was sent, or it is not valid."""


class TooManyRequestsError(HeartbitError):
    """Too many requests of one caller.

    Attributes:
        seconds: Seconds until the next request is accepted.
    """

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


#: The first that fits counts.
STATUSES: tuple[tuple[type[HeartbitError], int], ...] = (
    (MalformedBodyError, 400),
    (UnauthorizedError, 401),
    (InvalidSignatureError, 401),
    (ForbiddenError, 403),
    (StoppedByOperatorError, 403),
    (NotFoundError, 404),
    (TooSlowError, 408),
    (ConflictError, 409),
    (TooLargeError, 413),
    (TooBusyError, 503),
    (ReadersBusyError, 503),
    (ModelUnreachableError, 503),
    (NoSandboxError, 503),
    (MemoryProviderError, 503),
    (LiveOutputError, 503),
    (ArchiveError, 503),
    (TooManyRequestsError, 429),
    (QuotaExceededError, 429),
    (HeartbitError, 422),
)


def describe_limit(limit: int) -> str:
    """Return the sentence on a body with more bytes than a limit."""
    return f"The body is too large: at most {limit // 1_000_000} MB is accepted."


def install(api: NinjaAPI) -> None:
    """Make the API answer every exception with problem details."""
    api.add_exception_handler(HeartbitError, heartbit_error)
    api.add_exception_handler(HttpError, _of_ninja)
    api.add_exception_handler(ValidationError, _of_validation)
    api.add_exception_handler(RequestDataTooBig, _of_size)
    api.add_exception_handler(Http404, _of_absence)
    api.add_exception_handler(Exception, defect)


def problem(status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    """Return problem details as JSON, with further members where they are not None."""
    return {
        "type": f"{_URN}{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        **{name: value for name, value in more.items() if value is not None},
    }


def answer(status: int, code: str, detail: str, **more: Any) -> JsonResponse:
    """Return a response with problem details; see ``problem``."""
    body = problem(status, code, detail, **more)
    response = JsonResponse(body, status=status, content_type=PROBLEM)
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="heartbit"'
    return response


def heartbit_error(request: HttpRequest, error: Any) -> HttpResponse:
    """Return the response to one of our own errors."""
    scope = error.scope if isinstance(error, ForbiddenError) else None
    code, remedy = problem_code(type(error)), _remedy(error.remedy)
    response = answer(status_of(error), code, str(error), scope=scope, remedy=remedy)
    if isinstance(error, TooManyRequestsError | NotNowError | ReadersBusyError):
        response["Retry-After"] = str(error.seconds)
    return response


def _remedy(remedy: Remedy | None) -> dict[str, Any] | None:
    operation = find_operation(remedy.operation) if remedy else None
    if remedy is None or operation is None:
        return None
    return {**asdict(remedy), "request": operation.route.format(**remedy.values)}


def status_of(error: HeartbitError) -> int:
    """Return the HTTP status of one of our own errors."""
    return next(status for kind, status in STATUSES if isinstance(error, kind))


def problem_code(kind: type[Exception]) -> str:
    """``AgentNotFoundError`` as ``agent_not_found``."""
    return _WORDS.sub("_", kind.__name__.removesuffix("Error")).lower()


def _of_ninja(request: HttpRequest, error: Any) -> HttpResponse:
    # A body that cannot be parsed arrives here, wrapped; so does a missing key.
    if isinstance(error.__cause__, HeartbitError):
        return heartbit_error(request, error.__cause__)
    if error.status_code == 401:
        return heartbit_error(
            request, UnauthorizedError("Send an API key: Authorization: Bearer hb_...")
        )
    return answer(error.status_code, "http", str(error))


def _of_validation(request: HttpRequest, error: Any) -> HttpResponse:
    return answer(422, "validation", fault(error.errors))


def _of_size(request: HttpRequest, error: Any) -> HttpResponse:
    return heartbit_error(request, TooLargeError(describe_limit(MOST_BODY_BYTES)))


def _of_absence(request: HttpRequest, error: Any) -> HttpResponse:
    return answer(
        404, "not_found", "There is nothing at this address: /api/v1/docs lists the operations."
    )


def database_problem(error: BaseException) -> HttpResponse | None:
    """Return the response to a transient fault of the database; None for other errors."""
    fault = database_fault(error)
    if fault is None:
        return None
    logger.error("the database is unavailable: %s", error)
    code, seconds = "unavailable", 2
    detail = "The database is unavailable: try again in a moment."
    if fault.is_disk_full:
        code, seconds = "disk_full", 30
        detail = "The database's disk is full: nothing can be stored until an operator frees space."
    elif fault.is_conflict:
        seconds = 1
        detail = "The request conflicted with another write and was rolled back: send it again."
    response = answer(503, code, detail)
    response["Retry-After"] = str(seconds)
    return response


def defect(request: HttpRequest, error: Any) -> HttpResponse:
    """Return the response to an error of the server, which its log describes."""
    away = database_problem(error)
    if away is not None:
        return away
    logger.error("%s %s failed", request.method, request.path, exc_info=error)
    kind = "answer" if isinstance(error, PydanticError) else "internal"
    return answer(500, kind, "The server failed; its log says where.")
