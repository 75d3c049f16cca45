"""Erasure of a person's runs from archive files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agents.housekeeping import archive_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path


def erase_archived(
    directory: Path, slug: str, user_id: int, *, agent: str, runs: Collection[str]
) -> list[UUID]:
    """Rewrite the archive files with runs of a person, without them; return the ids of the runs.

    As in the database, whole trees and conversations go, and forks of their runs. The caller has
    locked the directory.

    Args:
        directory: Directory of archives.
        slug: The workspace's.
        user_id: The person.
        agent: Start from runs of this agent alone; empty: of all agents.
        runs: Ids of runs that are erased elsewhere: their forks are erased here.

    Raises:
        ArchiveError: A file cannot be read or written; it is as before.
    """
    files = archive_files.files_of(directory, slug)
    archived = {path: [_head(line) for line in archive_files.read(path)] for path in files}
    rows = [head for heads in archived.values() for head in heads if head["type"] == "run"]
    roots, conversations = _reached(rows, user_id, agent, runs)
    erased = {row["id"] for row in rows if row["root"] in roots}
    for path, heads in archived.items():
        gone = [_is_erased(head, erased, conversations) for head in heads]
        if any(gone):
            lines = zip(archive_files.read(path), gone, strict=True)
            archive_files.replace(path, (line for line, is_erased in lines if not is_erased))
    return [UUID(one) for one in erased]


def _head(line: str) -> dict[str, Any]:
    """Return what decides about a line, without its texts."""
    entry = json.loads(line)
    run = entry.get("run", {})
    return {
        "type": entry["type"],
        "id": entry.get("conversation", run).get("id", entry.get("run_id")),
        "root": run.get("root_id"),
        "conversation": run.get("conversation_id"),
        "source": run.get("forked_from_id"),
        "agent": run.get("agent"),
        "user": run.get("started_user_id"),
    }


def _reached(
    rows: Iterable[dict[str, Any]], user_id: int, agent: str, runs: Collection[str]
) -> tuple[set[str], set[str]]:
    """Return the roots and conversations that hold, continue or copy what the person said."""
    rows = list(rows)
    new = {row["root"] for row in rows if row["user"] == user_id and agent in ("", row["agent"])}
    new |= {row["root"] for row in rows if row["source"] in runs}
    roots: set[str] = set()
    conversations: set[str] = set()
    while new:
        roots |= new
        mine = [row for row in rows if row["root"] in roots]
        ids = {row["id"] for row in mine}
        conversations = {row["conversation"] for row in mine} - {None}
        reached = (
            row["root"]
            for row in rows
            if row["conversation"] in conversations or row["source"] in ids
        )
        new = set(reached) - roots
    return roots, conversations


def _is_erased(head: dict[str, Any], runs: set[str], conversations: set[str]) -> bool:
    # A line of an artifact has the id of its run.
    return head["id"] in (conversations if head["type"] == "conversation" else runs)
