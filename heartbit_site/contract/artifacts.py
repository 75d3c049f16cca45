"""Artifacts: what runs produced. A file is fetched by a route of its own (``api.routes``)."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasPath, Field

from heartbit_site.base.view import Id, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_RUNS, Operation


class ArtifactRowOut(View):
    """One thing that a run produced, without its content."""

    run_id: Id
    agent: str
    name: str = Field(
        validation_alias=AliasPath("artifact", "name"),
        description="No other of its run has the same.",
    )
    kind: Literal["code", "file", "data", "log"] = Field(
        validation_alias=AliasPath("artifact", "kind")
    )
    language: str = Field(
        validation_alias=AliasPath("artifact", "language"),
        description="As its author called it; it may be empty.",
    )
    file: str = Field(description="Name of the file when it is fetched.")
    size: int = Field(description="Bytes, as it is fetched.")


class ArtifactsOut(Page):
    """Artifacts of a run and its ended sub-agents, the oldest run's first."""

    artifacts: list[ArtifactRowOut]


LIST_ARTIFACTS = Operation(
    "artifacts.list_artifacts", "GET /runs/{run_id}/artifacts", ArtifactsOut,
    "List a run's artifacts", READ_RUNS,
)  # fmt: skip
