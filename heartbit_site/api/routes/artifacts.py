"""What runs produced: listed, and fetched as files.

A model wrote it. So it goes out as plain text to be saved, never as something that a browser would
show or run on our own host (and ``nosniff``, which every answer has, keeps it from guessing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from ninja import Router

from agents.artifacts import file_name, find_artifact, produced_below
from agents.querysets import find_run
from heartbit_site.api.auth import READ_RUNS, workspace_of
from heartbit_site.api.openapi import FILE, answers
from heartbit_site.api.tree_outputs import ArtifactsOut
from heartbit_site.base import orm
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import page_of

if TYPE_CHECKING:
    from agents.artifacts import Produced

router = Router(tags=["runs"])


@router.get(
    "/runs/{run_id}/artifacts",
    auth=READ_RUNS,
    response=answers(ArtifactsOut, 404),
    summary="A run's artifacts",
)
async def artifacts(
    request: HttpRequest, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> Any:
    """What a run and its sub-agents produced, of those that have ended; the oldest run's first."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        found = {one.place: one for one in produced_below(find_run(workspace, run_id))}
        rows, following = page_of(found, str, cursor, limit)
        return {"artifacts": [_row(one) for one in rows], "next": following}

    return await orm.in_thread(read)


@router.get(
    "/runs/{run_id}/artifacts/{artifact}",
    auth=READ_RUNS,
    response=answers(str, 404, 409),
    summary="Fetch an artifact",
    openapi_extra=FILE,
)
async def fetch(request: HttpRequest, run_id: Word, artifact: Word) -> Any:
    """One artifact of the run itself as a file; 409 as long as the run has not ended."""
    workspace = workspace_of(request)
    found = await orm.in_thread(lambda: find_artifact(find_run(workspace, run_id), artifact))
    response = HttpResponse(found.content, content_type="text/plain; charset=utf-8")
    saved = content_disposition_header(as_attachment=True, filename=file_name(found))
    response["Content-Disposition"] = saved or "attachment"
    response["Cache-Control"] = "no-store"
    return response


def _row(one: Produced) -> dict[str, Any]:
    artifact = one.artifact
    return {
        "run": str(one.run_id),
        "agent": one.agent,
        "name": artifact.name,
        "kind": artifact.kind,
        "language": artifact.language,
        "file": file_name(artifact),
        "size": len(artifact.content.encode()),
    }
