"""Artifacts, files and the blackboard: what runs leave behind."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.errors import ArtifactNotFoundError
from agents.journal.memory_texts import is_hidden_artifact
from agents.models import BlackboardEntry
from agents.querysets import blackboard, find_run
from agents.reads.artifacts import (
    file_name,
    find_artifact,
    produced_below,
    stored_content,
    work_file,
    work_files,
)
from agents.reads.hidden_memories import texts_of_run
from heartbit_site.base.access import Access
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.base.preview import PREVIEW_CHARACTERS, preview
from heartbit_site.base.shared_value import value_text
from heartbit_site.contract.artifacts import (
    ArtifactRowOut,
    ArtifactsOut,
    BlackboardEntryOut,
    BlackboardOut,
    BlackboardRowOut,
    WorkFileOut,
    WorkFilesOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.operation import Download
from heartbit_site.operations.paging import find_row, list_page, page_of


def list_artifacts(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> ArtifactsOut:
    """Return artifacts of a run and its ended sub-agents; the oldest run's first."""
    below = produced_below(find_run(access, run_id))
    found, following = page_of({one.place: one for one in below}, str, cursor, limit)
    return ArtifactsOut(
        artifacts=[ArtifactRowOut.of(one, file=file_name(one.artifact)) for one in found],
        next_cursor=following,
    )


Named = Annotated[Word, Field(description="Name in the list of artifacts.")]
PathInFolder = Annotated[Word, Field(description="Path of the file in the folder.")]


def fetch_artifact(access: Access, run_id: Word, artifact: Named) -> Download:
    """Return one artifact of the run itself as a file; 409 for parts of an unfinished answer."""
    run = find_run(access, run_id)
    if is_hidden_artifact(artifact) and texts_of_run(access, run) is not None:
        raise ArtifactNotFoundError("The artifact lists memories that you may not see.")
    found, stored = find_artifact(run, artifact), stored_content(run, artifact)
    return Download(file_name(found), found.content if stored is None else stored)


def fetch_work_file(access: Access, run_id: Word, *, path: PathInFolder) -> Download:
    """Return the current file of the folder of the run's tree."""
    return Download(path.rpartition("/")[2], work_file(find_run(access, run_id), path))


def list_work_files(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> WorkFilesOut:
    """Return the current files of the folder of a run's tree, by path."""
    rows = work_files(find_run(access, run_id))
    found, following = page_of({row.path: row for row in rows}, str, cursor, limit)
    return WorkFilesOut(files=[WorkFileOut.of(row) for row in found], next_cursor=following)


Key = Annotated[Word, Field(description="Key of the entry.")]


class BlackboardEntryNotFoundError(NotFoundError):
    """The tree has no blackboard entry with that key."""


def list_blackboard(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> BlackboardOut:
    """Return the blackboard entries of a run's tree, by key; any run of the tree may be named.

    Long values are cut: `GET /runs/{run_id}/blackboard/entry` returns the whole value.
    """
    shared = blackboard(find_run(access, run_id).root_id)
    return list_page(BlackboardOut, shared, "key", cursor, limit, _row)


def show_blackboard_entry(access: Access, run_id: Word, *, key: Key) -> BlackboardEntryOut:
    """Return one entry with its whole value."""
    run = find_run(access, run_id)
    missing = BlackboardEntryNotFoundError(
        f"The tree of run {run.pk} has no blackboard entry {key!r}.",
        remedy=Remedy("blackboard.list_blackboard", "lists the keys", {"run_id": str(run.pk)}),
    )
    found = find_row(blackboard(run.root_id).filter(key=key), missing)
    return BlackboardEntryOut.of(found, value_characters=len(value_text(found.value)))


def _row(entry: BlackboardEntry) -> BlackboardRowOut:
    text = value_text(entry.value)
    shown = entry.value if len(text) <= PREVIEW_CHARACTERS else preview(text)
    return BlackboardRowOut.of(entry, value=shown, value_characters=len(text))
