"""``POST /agui/NAME``: who sends it, from which pages, and what is answered."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from heartbit_site.api.errors import answer, defect, heartbit_error
from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from heartbit_site.doors.agui.begin import Begun, begin
from heartbit_site.doors.agui.requests import AgentInput
from heartbit_site.doors.agui.stream import events_of, refused
from heartbit_site.doors.keys import access_by_key
from heartbit_site.doors.requests import read_request
from heartbit_site.doors.runs import streamed


@csrf_exempt  # a key counts, never a session
async def run_agent(request: HttpRequest, name: str) -> HttpResponseBase:
    """Run an agent or a workflow, and stream what it does."""
    response = (
        HttpResponse(status=204) if request.method == "OPTIONS" else await _run(request, name)
    )
    response["Vary"] = "Origin"
    origin = request.headers.get("Origin", "")
    if origin in settings.HEARTBIT_AGUI_ORIGINS:
        response["Access-Control-Allow-Origin"] = origin
        response["Access-Control-Allow-Methods"] = "POST"
        response["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
        response["Access-Control-Max-Age"] = "600"
    return response


async def _run(request: HttpRequest, name: str) -> HttpResponseBase:
    if request.method != "POST":
        refusal = answer(405, "method", "This path takes POST alone.")
        refusal["Allow"] = "POST"
        return refusal
    try:
        body, begun = await orm.run_in_thread(lambda: _begun(request, name))
    except HeartbitError as error:
        return heartbit_error(request, error)
    except Exception as error:  # noqa: BLE001  a client gets JSON whatever happens
        return defect(request, error)
    if isinstance(begun, HeartbitError):  # of a request of the protocol: an error of the protocol
        return streamed(refused(body, begun))
    return streamed(events_of(body, begun))


def _begun(request: HttpRequest, name: str) -> tuple[AgentInput, Begun | HeartbitError]:
    """Return the request, and the run that answers it, or why none does. Blocks."""
    access = access_by_key(request, ("runs:write", "runs:read"))
    body = read_request(AgentInput, request.body)
    try:
        return body, begin(access, name, body)
    except HeartbitError as error:
        return body, error


urlpatterns = [path("agui/<str:name>", run_agent)]
