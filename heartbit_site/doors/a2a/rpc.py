"""A2A over JSON-RPC: one address for an agent, and one for a workspace."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from heartbit_site.api.routes.events import BEAT
from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.rights import forbidden
from heartbit_site.base.untrusted import parse_untrusted_json
from heartbit_site.doors.a2a.errors import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    VERSION,
    A2AError,
    defect,
    error_body,
    refusal,
)
from heartbit_site.doors.a2a.methods import METHODS, Call
from heartbit_site.doors.a2a.requests import read_params
from heartbit_site.doors.a2a.stories import Piece
from heartbit_site.doors.keys import access_by_key
from heartbit_site.doors.runs import streamed

#: Header, and parameter of the address, that has the client's version of the protocol.
_VERSION: Final = "A2A-Version"


@csrf_exempt  # a key is needed, which no browser sends by itself
async def answer_rpc(request: HttpRequest, agent: str = "") -> HttpResponseBase:
    """Answer a request of JSON-RPC."""
    request_id = None
    if request.method != "POST":
        body = error_body(None, INVALID_REQUEST, "This path takes POST alone.")
        return JsonResponse(body, status=405, headers={"Allow": "POST"})
    try:
        access = await orm.run_in_thread(lambda: access_by_key(request, ()))
        content = parse_untrusted_json(request.body, max_bytes=len(request.body) + 1)
        given: dict[str, Any] = content if isinstance(content, dict) else {}
        found = given.get("id")
        request_id = found if isinstance(found, str | int) and found is not True else None
        method = METHODS[_method_in(request, given)]
        missing = [scope for scope in method.scopes if not access.allows(scope)]
        if missing:
            raise forbidden(access, missing[0])
        params = read_params(method.kind, given.get("params") or {})
        last_event = request.headers.get("Last-Event-ID", "")
        answer = await method.answer(Call(access, agent, params, last_event))
    except HeartbitError as error:
        return refusal(request_id, error)
    except Exception as error:  # noqa: BLE001  a client gets JSON whatever happens
        return defect(request_id, request.path, error)
    if isinstance(answer, AsyncGenerator):
        return streamed(_events(request_id, answer))
    return JsonResponse({"jsonrpc": "2.0", "id": request_id, "result": answer})


@csrf_exempt
async def nothing_here(request: HttpRequest) -> JsonResponse:
    """Answer requests to every other path below ``/a2a``."""
    message = "There is nothing here: send JSON-RPC to /a2a/NAME, an agent's or a workflow's name."
    return JsonResponse(error_body(None, INVALID_REQUEST, message), status=404)


def _method_in(request: HttpRequest, given: dict[str, Any]) -> str:
    """Return the name of a request's method.

    Raises:
        A2AError: The request is not one of JSON-RPC, or not of this version of the protocol.
    """
    name = given.get("method")
    if given.get("jsonrpc") != "2.0" or not isinstance(name, str):
        raise A2AError(
            INVALID_REQUEST, "Send one JSON-RPC 2.0 request: jsonrpc, id, method, params."
        )
    version = request.headers.get(_VERSION) or request.GET.get(_VERSION) or "1.0"
    if version.split(".")[0] != "1" or "/" in name:
        raise A2AError(VERSION, "This server speaks A2A 1.0, whose methods are as SendMessage.")
    if name not in METHODS:
        raise A2AError(METHOD_NOT_FOUND, f"There is no method {name[:80]!r}: {', '.join(METHODS)}.")
    return name


async def _events(request_id: Any, story: AsyncGenerator[Piece, None]) -> AsyncIterator[bytes]:
    """Yield a story as server-sent events, whose ids a reader sends as ``Last-Event-ID``."""
    async with contextlib.aclosing(story):
        async for seq, told in story:
            if told is None:
                yield BEAT
                continue
            body = {"jsonrpc": "2.0", "id": request_id, "result": told}
            yield f"id: {seq}\ndata: {json.dumps(body, separators=(',', ':'))}\n\n".encode()
