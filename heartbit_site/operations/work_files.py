"""Files of the folders that runs work in."""

from __future__ import annotations

from agents.querysets import find_run
from agents.reads.artifacts import work_files
from heartbit_site.base.access import Access
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.work_files import WorkFileOut, WorkFilesOut
from heartbit_site.operations.paging import page_of


def list_work_files(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> WorkFilesOut:
    """Return the current files of the folder of a run's tree, by path."""
    rows = work_files(find_run(access.workspace, run_id))
    found, following = page_of({row.path: row for row in rows}, str, cursor, limit)
    return WorkFilesOut(files=[WorkFileOut.of(row) for row in found], next_cursor=following)
