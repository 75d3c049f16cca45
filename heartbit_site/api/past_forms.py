"""Forks and versions as JSON: in requests and responses, and on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents.actions.fork_run import Edits
from agents.versions import difference, pair
from heartbit_site.api.forms import time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agents.actions.rollback_agent import Rollback
    from agents.models import Agent, AgentVersion


def edits(wanted: Mapping[str, Any]) -> Edits:
    """What a fork is to differ in, from the body of a request."""
    arguments = wanted.get("arguments")
    return Edits(
        message=wanted.get("message", ""),
        task=wanted.get("task", ""),
        call=wanted.get("call", ""),
        arguments=None if arguments is None else json.dumps(arguments),
        result=wanted.get("result"),
        version=wanted.get("version"),
    )


def version_row(agent: Agent, version: AgentVersion, pinned: int) -> dict[str, Any]:
    """A version in short; ``pinned`` is the number of its runs."""
    return {
        "number": version.number,
        "hash": version.hash,
        "created_at": time(version.created_at),
        "current": version.pk == agent.current_version_id,
        "runs": pinned,
    }


def versions(agent: Agent, found: Iterable[tuple[AgentVersion, int]]) -> dict[str, Any]:
    """An agent's, each with the number of its runs."""
    rows = [version_row(agent, version, runs) for version, runs in found]
    return {"agent": agent.name, "versions": rows}


def diff(agent: Agent, older: int | None, newer: int | None) -> dict[str, Any]:
    """What changed between two versions; for None see ``pair``.

    Raises:
        VersionNotFoundError: The agent has no such version.
    """
    first, second = pair(agent, older, newer)
    found = difference(first, second)
    numbers = {"older": first.number, "newer": second.number, "changed": bool(found)}
    return {"agent": agent.name, **numbers, **found.as_dict()}


def rolled_back(agent: Agent, done: Rollback) -> dict[str, Any]:
    """What a rollback came to."""
    return {
        "agent": agent.name,
        "version": done.version.number,
        "wanted": done.wanted,
        "differs": done.differs,
    }
