"""Artifacts: output of runs."""

from __future__ import annotations

from agents.querysets import find_run
from agents.reads.artifacts import file_name, produced_below
from heartbit_site.base.access import Access
from heartbit_site.contract.artifacts import ArtifactRowOut, ArtifactsOut
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import page_of


def list_artifacts(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> ArtifactsOut:
    """Return artifacts of a run and its ended sub-agents; the oldest run's first."""
    below = produced_below(find_run(access.workspace, run_id))
    found, following = page_of({one.place: one for one in below}, str, cursor, limit)
    return ArtifactsOut(
        artifacts=[ArtifactRowOut.of(one, file=file_name(one.artifact)) for one in found],
        next_cursor=following,
    )
