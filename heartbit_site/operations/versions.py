"""Versions of agents: list, get, compare, roll back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.actions.rollback_agent import rollback_agent
from agents.definitions.snapshot_diff import compare
from agents.reads.agents import find_editable, find_version, pair, with_runs
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name
from heartbit_site.contract.versions import (
    DiffOut,
    RollbackIn,
    RolledBackOut,
    VersionDetailOut,
    VersionOut,
    VersionsOut,
)
from heartbit_site.operations.paging import page

Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Older = Annotated[
    Number | None, Field(description="Older version; by default the one before the newer.")
]
Newer = Annotated[Number | None, Field(description="Newer version; by default the current one.")]


def list_versions(
    access: Access, name: Name, *, cursor: Cursor = None, limit: Limit = USUAL
) -> VersionsOut:
    """Return the published versions of an agent, the newest first."""
    agent = find_editable(access.workspace, name)
    rows, following = page(agent.versions.all(), "-number", cursor, limit)
    found = [
        VersionOut.of(version, current=version.pk == agent.current_version_id, runs=runs)
        for version, runs in with_runs(rows)
    ]
    return VersionsOut(agent=agent.name, versions=found, next_cursor=following)


def compare_versions(
    access: Access, name: Name, *, older: Older = None, newer: Newer = None
) -> DiffOut:
    """Return the differences between two versions, by default to the current one."""
    agent = find_editable(access.workspace, name)
    first, second = pair(agent, older, newer)
    found = compare(first.snapshot, second.snapshot)
    return DiffOut.of(
        found, agent=agent.name, older=first.number, newer=second.number, changed=bool(found)
    )


def show_version(access: Access, name: Name, number: Number) -> VersionDetailOut:
    """Return a version with its content."""
    agent = find_editable(access.workspace, name)
    found = find_version(agent, number)
    return VersionDetailOut.of(
        found,
        agent=agent.name,
        current=found.pk == agent.current_version_id,
        runs=found.runs.count(),
    )


def roll_back(access: Access, name: Name, number: Number, body: RollbackIn) -> RolledBackOut:
    """Make an earlier version of the agent the current one; runs keep their version."""
    agent = find_editable(access.workspace, name)
    done = rollback_agent(agent, number, by=actor_of(access), anyway=body.force)
    return RolledBackOut.of(done, agent=agent.name, version=done.version.number)
