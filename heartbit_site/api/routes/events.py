"""A run's events as a stream."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Header, Query, Router

from agents.querysets import find_run
from heartbit_site.api.auth import READ_RUNS, access_of
from heartbit_site.api.openapi import STREAM, answers
from heartbit_site.api.stream import Selection, events_of, recorded
from heartbit_site.base import orm
from heartbit_site.base.access import Access, is_session_valid, refresh_access
from heartbit_site.contract.model import Word

router = Router(tags=["runs"])

Seq = Annotated[
    int,
    Query(ge=0, le=2**31 - 1, description="Sequence number of the last event that the reader has."),
]
LastSeq = Annotated[
    int | None,
    Header(
        alias="Last-Event-ID",
        ge=0,
        le=2**31 - 1,
        description="Like `after`, as sent by EventSource.",
    ),
]


@router.get(
    "/runs/{run_id}/events",
    auth=READ_RUNS,
    response=answers(str, 404),
    operation_id="follow_run",
    summary="Follow a run",
    openapi_extra=STREAM,
)
def stream(
    request: HttpRequest,
    run_id: Word,
    *,
    after: Seq = 0,
    last_event_id: LastSeq = None,
    tree: Annotated[
        bool,
        Query(
            description="Include the events of all runs of the tree; only the run's own have ids."
        ),
    ] = False,
    follow: Annotated[bool, Query(description="Wait for further events.")] = True,
) -> Any:
    """Stream the events after a sequence number until the run ends."""
    access = access_of(request)
    run = find_run(access.workspace, run_id)
    selection = Selection(run, after=max(after, last_event_id or 0), whole_tree=tree)

    if follow:
        session_key = request.session.session_key if access.key_id is None else None

        async def allowed() -> bool:
            return await orm.run_in_thread(lambda: _still(access, session_key))

        response: Any = StreamingHttpResponse(events_of(run, access, selection, allowed))
    else:
        response = HttpResponse(b"".join(recorded(run, access, selection)))
    response["Content-Type"] = "text/event-stream; charset=utf-8"
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold it back
    return response


def _still(access: Access, session_key: str | None) -> bool:
    """Return True if the follower may still read runs."""
    if access.key_id is None and not is_session_valid(session_key, access.user_id):
        return False
    now = refresh_access(access)
    return now is not None and all(map(now.allows, READ_RUNS.needs.scopes))
