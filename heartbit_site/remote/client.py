"""Requests to a Heartbit server; whatever goes wrong is one sentence. No Django."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

import httpx
from pydantic import ValidationError

from heartbit_site.base.errors import ConflictError, NotFoundError, Remedy
from heartbit_site.base.terminal_text import clean
from heartbit_site.contract.problem import RemedyOut
from heartbit_site.remote.errors import RequestRefusedError, ServerError, error_class

if TYPE_CHECKING:
    from heartbit_site.remote.server import Server

PREFIX: Final = "/api/v1"
CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 90.0  # longer than the server's longest wait
SILENCE_SECONDS: Final = 45.0  # of a stream: the server says something every 15 s
SHOWN: Final = 300
BUSY_TIMES: Final = 5  # a server that has had too many requests is asked again so often
LONGEST_PAUSE: Final = 10.0


def send(
    server: Server,
    method: str,
    path: str,
    *,
    query: Mapping[str, Any],
    body: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Any:
    """Return the JSON that the server answers to a request.

    Args:
        server: Which one.
        method: Such as GET.
        path: Where, below the API.
        query: Parameters of the address.
        body: What is sent, as JSON; None: nothing.
        key: The idempotency key.

    Raises:
        NotFoundError: It does not exist.
        ConflictError: Its state does not allow it (any more).
        ServerError: The server cannot be reached.
        RequestRefusedError: The server refuses.
    """
    response = _send(server, method, path, query=query, body=body, key=key)
    found = {} if response.status_code == httpx.codes.NO_CONTENT else _json(response)
    if not isinstance(found, dict):
        raise ServerError(_stranger(server))
    return found


def fetch(server: Server, path: str, *, query: Mapping[str, Any]) -> bytes:
    """Return the file that the server answers to a request; raises as ``send`` does."""
    return _send(server, "GET", path, query=query).content


def _send(
    server: Server,
    method: str,
    path: str,
    *,
    query: Mapping[str, Any],
    body: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> httpx.Response:
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    extra = {"Idempotency-Key": key} if key else {}
    url = f"{server.url}{PREFIX}{path}"
    with httpx.Client(headers=headers(server), timeout=timeout) as client:
        ask = partial(client.request, method, url, params=query, json=body, headers=extra)
        response = _answer(server, ask)
    if not response.is_success:
        refuse(server, response)
    return response


def _answer(server: Server, ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Return the response to a request; ask a busy server again after its pause, if it is short."""
    for times in range(BUSY_TIMES + 1):
        try:
            response = ask()
        except (httpx.TransportError, UnicodeEncodeError) as error:
            raise unreachable(server, error) from error
        pause = _pause(response)
        # After a long pause a quota is spent: whoever asks hears that at once.
        if response.status_code != 429 or times == BUSY_TIMES or pause > LONGEST_PAUSE:
            break
        time.sleep(pause)
    return response


def headers(server: Server) -> dict[str, str]:
    """Return the headers of every request."""
    return {"Authorization": f"Bearer {server.key}"}


def unreachable(server: Server, error: Exception) -> ServerError:
    """Return the error for a connection that failed."""
    reason = one_line(str(error), 120) or type(error).__name__
    return ServerError(
        f"The server {server.url} cannot be reached ({reason}): is the address right, and does "
        "`heartbit up` run there?",
    )


def refuse(server: Server, response: httpx.Response) -> NoReturn:
    """Raise what the status of a response that was read means."""
    status = response.status_code
    found = _json(response)
    message = found.get("detail") if isinstance(found, dict) else None
    if not isinstance(message, str):
        if status >= 500:
            raise ServerError(f"The server {server.url} failed ({status}).")
        raise ServerError(_stranger(server))
    text, remedy, code = one_line(message, SHOWN), _remedy(found), str(found.get("code", ""))
    match status:
        case 401:
            raise ServerError(
                f"The server {server.url} does not take the key in HEARTBIT_API_KEY: {text}",
            )
        case 403 if scope := found.get("scope"):
            make = f"`heartbit keys create NAME --scope {one_line(str(scope), SHOWN)}`"
            raise RequestRefusedError(f"{text.rstrip('.')}: {make} there makes one that does.")
        case 404:
            raise error_class(code, NotFoundError)(text, remedy=remedy)
        case 409:
            raise error_class(code, ConflictError)(text, remedy=remedy)
        case 429:
            raise ServerError(text)
    if status >= 500:
        raise ServerError(f"The server {server.url} failed ({status}): {text}")
    raise RequestRefusedError(text, code=code, remedy=remedy)


def _remedy(problem: Mapping[str, Any]) -> Remedy | None:
    """Return the remedy of problem details, which says what to do instead."""
    try:
        found = RemedyOut.model_validate(problem.get("remedy"))
    except ValidationError:
        return None
    return Remedy(found.operation, found.effect, found.values)


def one_line(text: str, limit: int) -> str:
    """Return a text of a server on one line, without control characters, cut to a limit."""
    return " ".join(clean(text.replace("\r", "\n")).split())[:limit]


def _pause(response: httpx.Response) -> float:
    """Return the seconds to wait after a server refused a request too many."""
    wanted = response.headers.get("Retry-After", "")
    is_number = wanted.isascii() and wanted.isdecimal()
    return float(wanted) if is_number else 1.0


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def _stranger(server: Server) -> str:
    return f"{server.url} does not answer as a Heartbit server: is the address right?"
