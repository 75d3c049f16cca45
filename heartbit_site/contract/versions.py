"""Versions of agents: list, get, compare, roll back."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from agents.definitions.snapshot_diff import SnapshotDiff
from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Operation


class VersionOut(View):
    """A version of an agent."""

    number: int
    hash: str
    created_at: Time
    current: bool
    runs: int = Field(description="Number of runs that are pinned to it.")


class VersionsOut(Page):
    """An agent's versions, the newest first."""

    agent: str
    versions: list[VersionOut]


class VersionDetailOut(VersionOut):
    """A version with its content."""

    agent: str
    snapshot: dict[str, Any]


class DiffOut(SnapshotDiff):
    """Changes from one version to another."""

    agent: str
    older: int
    newer: int
    changed: bool


class RolledBackOut(View):
    """The agent after a rollback."""

    agent: str
    version: int = Field(description="The new current version.")
    requested_version: int = Field(validation_alias="wanted")
    differs: str = Field(
        description="Differences from the requested version; empty if there are none."
    )


class RollbackIn(Body):
    """Options of a rollback."""

    force: bool = Field(
        default=False,
        description=(
            "Roll back even if tools, team or skills have changed, using the current ones in a "
            "new version."
        ),
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
