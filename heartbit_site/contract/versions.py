"""Versions of agents: list, look, compare, roll back."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Next
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Operation


class VersionOut(View):
    """A version of an agent."""

    number: int
    hash: str
    created_at: Time
    current: bool
    runs: int = Field(description="Count of runs that are pinned to it.")


class VersionsOut(View):
    """An agent's versions, the newest first."""

    agent: str
    versions: list[VersionOut]
    next_cursor: Next


class VersionDetailOut(VersionOut):
    """A version with its content."""

    agent: str
    snapshot: dict[str, Any]


class FieldChangeOut(View):
    """A setting that changed."""

    name: str
    before: Any
    after: Any


class PartChangeOut(View):
    """A tool or team member that came, went or changed."""

    name: str
    kind: Literal["added", "removed", "changed"]
    definition: bool = Field(description="True if the definition that the model reads changed.")
    fields: list[FieldChangeOut]


class DiffOut(View):
    """Changes from one version to another."""

    agent: str
    older: int
    newer: int
    changed: bool
    prompt: str = Field(description="A unified diff; empty: the same.")
    fields: list[FieldChangeOut]
    tools: list[PartChangeOut]
    team: list[PartChangeOut]


class RolledBackOut(View):
    """The agent after a rollback."""

    agent: str
    version: int = Field(description="The current one now.")
    requested_version: int = Field(validation_alias="wanted")
    differs: str = Field(description="Differences from the requested version; empty: none.")


class RollbackIn(Body):
    """Options of a rollback."""

    force: bool = Field(
        default=False,
        description="Roll back even if tools or team have changed: with today's, as a new version.",
    )


LIST_VERSIONS = Operation(
    "versions.list_versions", "GET /agents/{name}/versions", VersionsOut,
    "List an agent's versions", READ_AGENTS,
)  # fmt: skip
COMPARE_VERSIONS = Operation(
    "versions.compare_versions", "GET /agents/{name}/versions/diff", DiffOut, "Compare versions",
    READ_AGENTS,
)  # fmt: skip
SHOW_VERSION = Operation(
    "versions.show_version", "GET /agents/{name}/versions/{number}", VersionDetailOut,
    "Get a version", READ_AGENTS,
)  # fmt: skip
ROLL_BACK = Operation(
    "versions.roll_back", "POST /agents/{name}/versions/{number}/rollback", RolledBackOut,
    "Roll an agent back", WRITE_AGENTS, body=RollbackIn, errors=(409,),
)  # fmt: skip
