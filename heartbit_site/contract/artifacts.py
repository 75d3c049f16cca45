"""Artifacts, files and the blackboard: what runs leave behind."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasPath, Field, JsonValue

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_RUNS, Noun


class ArtifactRowOut(View):
    """An artifact of a run, without its content."""

    run_id: Id
    agent: str
    name: str = Field(
        validation_alias=AliasPath("artifact", "name"),
        description="Unique in the run.",
    )
    kind: Literal["code", "file", "data", "log"] = Field(
        validation_alias=AliasPath("artifact", "kind")
    )
    language: str = Field(
        validation_alias=AliasPath("artifact", "language"),
        description="Title given by its author; may be empty.",
    )
    file: str = Field(description="File name of the download.")
    size: int = Field(description="Size of the download in bytes.")


class ArtifactsOut(Page):
    """Artifacts of a run and its ended sub-agents, the oldest run's first."""

    artifacts: list[ArtifactRowOut]


NOUN = Noun("artifacts", read=READ_RUNS)

LIST_ARTIFACTS = NOUN.get(
    "list_artifacts", "/runs/{run_id}/artifacts", ArtifactsOut, "List a run's artifacts"
)
FETCH_ARTIFACT = NOUN.download(
    "fetch_artifact", "/runs/{run_id}/artifacts/{artifact}", errors=(409,)
)


class WorkFileOut(View):
    """A file of a run's folder, without its content."""

    path: str = Field(description="Path in the folder.")
    size: int = Field(description="Bytes.")
    changed_at: Time = Field(validation_alias="created_at")


class WorkFilesOut(Page):
    """Current files of the folder of a run's tree, by path."""

    files: list[WorkFileOut]


FILES = Noun("work_files", module="artifacts", read=READ_RUNS)

# The path is no part of the address: a model chooses it, and it holds slashes.
FETCH_WORK_FILE = FILES.download(
    "fetch_work_file", "/runs/{run_id}/files/content", "Fetch a file of a run's folder"
)
LIST_WORK_FILES = FILES.get(
    "list_work_files", "/runs/{run_id}/files", WorkFilesOut, "List the files of a run's folder"
)


class BlackboardRowOut(View):
    """A value that the runs of a tree share, in a list, where long values are cut."""

    key: str
    author: str = Field(description="The agent that wrote it; `program` for an initial entry.")
    value: JsonValue = Field(
        description="A longer value (value_characters) is cut to 500 characters of text, ending "
        "with …; `GET /runs/{run_id}/blackboard/entry` returns the whole value."
    )
    value_characters: int = Field(
        description="Length of the whole value: of the text, else of its JSON."
    )
    updated_at: Time
    expires_at: Time | None = Field(description="Time at which it is deleted; null: never.")


class BlackboardEntryOut(BlackboardRowOut):
    """A value that the runs of a tree share."""

    value: JsonValue


class BlackboardOut(Page):
    """Entries that a tree of runs shares, by key."""

    entries: list[BlackboardRowOut]


BLACKBOARD = Noun("blackboard", module="artifacts", read=READ_RUNS)

LIST_BLACKBOARD = BLACKBOARD.get(
    "list_blackboard", "/runs/{run_id}/blackboard", BlackboardOut, "List a tree's blackboard"
)
# The key is no part of the path: an agent chooses it, and it may hold slashes, or be two dots.
SHOW_BLACKBOARD_ENTRY = BLACKBOARD.get(
    "show_blackboard_entry", "/runs/{run_id}/blackboard/entry", BlackboardEntryOut
)
