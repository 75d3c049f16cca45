"""Errors of A2A over JSON-RPC: ``{"jsonrpc", "id", "error": {code, message, data}}``."""

from __future__ import annotations

import logging
from typing import Any, Final

from django.http import JsonResponse

from agents.errors import CallClosedError, RunNotFoundError
from heartbit_site.api.errors import TooManyRequestsError, database_problem, status_of
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import UntrustedJSONError

logger = logging.getLogger("django.request")

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
PARSE: Final = -32700
TASK_NOT_FOUND: Final = -32001
TASK_NOT_CANCELABLE: Final = -32002
UNSUPPORTED_OPERATION: Final = -32004
CONTENT_TYPE: Final = -32005
VERSION: Final = -32009
#: Of refusals that the protocol has no code for: they have a status of HTTP.
REFUSED: Final = -32000
_REASONS: Final = {
    TASK_NOT_FOUND: "TASK_NOT_FOUND",
    TASK_NOT_CANCELABLE: "TASK_NOT_CANCELABLE",
    UNSUPPORTED_OPERATION: "UNSUPPORTED_OPERATION",
    CONTENT_TYPE: "CONTENT_TYPE_NOT_SUPPORTED",
    VERSION: "VERSION_NOT_SUPPORTED",
}
#: The first that fits counts.
_CODES: Final[tuple[tuple[type[HeartbitError], int], ...]] = (
    (RunNotFoundError, TASK_NOT_FOUND),
    (CallClosedError, UNSUPPORTED_OPERATION),
    (UntrustedJSONError, PARSE),
    (HeartbitError, INVALID_PARAMS),
)
#: Statuses of HTTP that say more than the protocol can; all other errors have 200, as in JSON-RPC.
_STATUSES: Final = (401, 403, 408, 413, 429, 503)


class A2AError(HeartbitError):
    """A request that the protocol has an error for.

    Attributes:
        code: The error's code.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def error_body(request_id: Any, code: int, message: str) -> dict[str, Any]:
    """Return an error as JSON."""
    error: dict[str, Any] = {"code": code, "message": message}
    if code in _REASONS:
        info = {"reason": _REASONS[code], "domain": "a2a-protocol.org"}
        error["data"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", **info}]
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def refusal(request_id: Any, error: HeartbitError) -> JsonResponse:
    """Return the response to one of Heartbit's own errors."""
    if isinstance(error, A2AError):
        return JsonResponse(error_body(request_id, error.code, str(error)))
    status = status_of(error)
    if status not in _STATUSES:
        code = next(code for kind, code in _CODES if isinstance(error, kind))
        return JsonResponse(error_body(request_id, code, str(error)))
    response = JsonResponse(error_body(request_id, REFUSED, str(error)), status=status)
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="heartbit"'
    if isinstance(error, TooManyRequestsError):
        response["Retry-After"] = str(error.seconds)
    return response


def defect(request_id: Any, path: str, error: Exception) -> JsonResponse:
    """Return the response to an error of the server, which its log describes."""
    if database_problem(error) is not None:
        body = error_body(
            request_id, REFUSED, "The database is unavailable: try again in a moment."
        )
        return JsonResponse(body, status=503, headers={"Retry-After": "2"})
    logger.error("%s failed", path, exc_info=error)
    body = error_body(request_id, INTERNAL, "The server failed; its log says where.")
    return JsonResponse(body, status=500)
