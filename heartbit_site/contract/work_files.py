"""Files of a run's folder. A file is fetched by a route of its own (``api.routes``)."""

from __future__ import annotations

from pydantic import Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_RUNS, Noun


class WorkFileOut(View):
    """A file of a run's folder, without its content."""

    path: str = Field(description="Path in the folder.")
    size: int = Field(description="Bytes.")
    changed_at: Time = Field(validation_alias="created_at")


class WorkFilesOut(Page):
    """Current files of the folder of a run's tree, by path."""

    files: list[WorkFileOut]


NOUN = Noun("work_files", read=READ_RUNS)

LIST_WORK_FILES = NOUN.get(
    "list_work_files", "/runs/{run_id}/files", WorkFilesOut, "List the files of a run's folder"
)
