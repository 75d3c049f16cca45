"""Versions of agents: list, get, compare, roll back."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from agents.definitions.snapshot_diff import SnapshotDiff
from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Noun


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


NOUN = Noun("versions", read=READ_AGENTS, write=WRITE_AGENTS)

LIST_VERSIONS = NOUN.get(
    "list_versions", "/agents/{name}/versions", VersionsOut, "List an agent's versions"
)
COMPARE_VERSIONS = NOUN.get(
    "compare_versions", "/agents/{name}/versions/diff", DiffOut, "Compare versions"
)
SHOW_VERSION = NOUN.get("show_version", "/agents/{name}/versions/{number}", VersionDetailOut)
ROLL_BACK = NOUN.post(
    "roll_back", "/agents/{name}/versions/{number}/rollback", RolledBackOut, "Roll an agent back",
    body=RollbackIn, errors=(409,),
)  # fmt: skip
