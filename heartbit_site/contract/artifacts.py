"""Artifacts: output of runs. A file is fetched by a route of its own (``api.routes``)."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasPath, Field

from heartbit_site.base.view import Id, View
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
