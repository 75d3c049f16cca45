"""Artifacts of runs, as files.

A model wrote it. So it goes out as plain text to be saved, never as something that a browser would
show or run on our own host (and ``nosniff``, which every answer has, keeps it from guessing).
"""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from ninja import Path, Router

from agents.querysets import find_run
from agents.reads.artifacts import file_name, find_artifact, stored_content
from heartbit_site.api.auth import READ_RUNS, access_of
from heartbit_site.api.openapi import FILE, answers
from heartbit_site.contract.model import Word

router = Router(tags=["artifacts"])

Named = Annotated[Word, Path(description="Name in the list of artifacts.")]


@router.get(
    "/runs/{run_id}/artifacts/{artifact}",
    auth=READ_RUNS,
    response=answers(str, 404, 409),
    operation_id="fetch_artifact",
    summary="Fetch an artifact",
    openapi_extra=FILE,
)
def fetch(request: HttpRequest, run_id: Word, artifact: Named) -> Any:
    """Return one artifact of the run itself as a file; 409 for parts of an answer still awaited."""
    workspace = access_of(request).workspace
    run = find_run(workspace, run_id)
    found = find_artifact(run, artifact)
    stored = stored_content(run, artifact)
    content = found.content if stored is None else stored  # which may be no text
    response = HttpResponse(content, content_type="text/plain; charset=utf-8")
    saved = content_disposition_header(as_attachment=True, filename=file_name(found))
    response["Content-Disposition"] = saved or "attachment"
    response["Cache-Control"] = "no-store"
    return response
