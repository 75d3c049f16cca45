"""Downloads of runs' artifacts, and of the files of their folders.

Models wrote them, so they are sent as plain text to be saved, or as a PNG or JPEG, never as
something that a browser would run on this host (``nosniff``, which every response has, keeps it
from guessing).
"""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from ninja import Path, Query, Router

from agents.querysets import find_run
from agents.reads.artifacts import file_name, work_file
from heartbit_site.api.auth import READ_RUNS, access_of
from heartbit_site.api.openapi import FILE, answers
from heartbit_site.base.pictures import kind_of
from heartbit_site.contract.model import Word
from heartbit_site.operations.artifacts import read_artifact

router = Router(tags=["artifacts"])

PathInFolder = Annotated[Word, Query(description="Path of the file in the folder.")]
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
    """Return one artifact of the run itself as a file; 409 for parts of an unfinished answer."""
    found, content = read_artifact(access_of(request), run_id, artifact)
    response = _to_be_saved(content, file_name(found))
    kind = kind_of(content) if isinstance(content, bytes) else ""
    if kind in ("PNG", "JPEG"):  # which no browser runs; a page may show it
        response["Content-Type"] = f"image/{kind.lower()}"
    return response


# The path is no part of the address: a model chooses it, and it holds slashes.
@router.get(
    "/runs/{run_id}/files/content",
    auth=READ_RUNS,
    response=answers(str, 404),
    operation_id="fetch_work_file",
    summary="Fetch a file of a run's folder",
    openapi_extra=FILE,
)
def fetch_work_file(request: HttpRequest, run_id: Word, path: PathInFolder) -> Any:
    """Return the current file of the folder of the run's tree."""
    run = find_run(access_of(request).workspace, run_id)
    return _to_be_saved(work_file(run, path), path.rpartition("/")[2])


def _to_be_saved(content: str | bytes, name: str) -> HttpResponse:
    response = HttpResponse(content, content_type="text/plain; charset=utf-8")
    saved = content_disposition_header(as_attachment=True, filename=name)
    response["Content-Disposition"] = saved or "attachment"
    response["Cache-Control"] = "no-store"
    return response
