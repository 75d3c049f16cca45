"""Erasure of a person's runs from archive files."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from agents.housekeeping import archive_files
from agents.journal.events import RunForked


class ArchivedRuns:
    """The archive files of a workspace, of which a person's runs are found and then erased.

    As in the database, whole trees and conversations go, and forks of their runs. The caller
    has locked the directory.

    Args:
        directory: Directory of archives.
        slug: The workspace's.

    Raises:
        ArchiveError: A file cannot be read or written; it is as before.
    """

    def __init__(self, directory: Path, slug: str) -> None:
        files = archive_files.files_of(directory, slug)
        self._heads = {path: [_head(line) for line in archive_files.read(path)] for path in files}
        self._runs: set[str] = set()
        self._conversations: set[str | None] = set()

    def reach(self, user_id: int, *, agent: str, runs: Collection[UUID]) -> set[UUID]:
        """Return the ids of the runs to erase.

        Args:
            user_id: The person.
            agent: Start from runs of this agent alone; empty: of all agents.
            runs: Ids of runs that are erased elsewhere: their forks are erased here.
        """
        rows = [head for heads in self._heads.values() for head in heads if head.type == "run"]
        roots, self._conversations = _reached(rows, user_id, agent, set(map(str, runs)))
        self._runs = {str(row.id) for row in rows if row.root in roots}
        return {UUID(one) for one in self._runs}

    def erase(self) -> None:
        """Rewrite the files without what was reached last."""
        for path, heads in self._heads.items():
            gone = [_is_erased(head, self._runs, self._conversations) for head in heads]
            if any(gone):
                lines = zip(archive_files.read(path), gone, strict=True)
                archive_files.replace(path, (line for line, is_erased in lines if not is_erased))


class _Head(NamedTuple):
    """Ids of a line that decide about it, without its texts; an artifact has those of its run."""

    type: str
    id: str | None
    root: str | None = None
    conversation: str | None = None
    sources: frozenset[str] = frozenset()
    agent: str | None = None
    user: int | None = None


def _head(line: str) -> _Head:
    entry = json.loads(line)
    kind: str = entry["type"]
    if kind != "run":
        return _Head(kind, entry.get("conversation", {}).get("id", entry.get("run_id")))
    run = entry["run"]
    # The row's link is gone if the source was archived first. The journal names the direct source,
    # and the ancestors whose fork event was copied.
    forks = [event for event in entry["events"] if event["type"] == RunForked.type]
    sources = {run.get("forked_from_id"), *(fork["payload"]["source"] for fork in forks)} - {None}
    return _Head(
        kind,
        run["id"],
        run["root_id"],
        run.get("conversation_id"),
        frozenset(sources),
        run["agent"],
        run.get("started_user_id"),
    )


def _reached(
    rows: Sequence[_Head], user_id: int, agent: str, runs: Collection[str]
) -> tuple[set[str | None], set[str | None]]:
    """Return the roots and conversations that hold, continue or copy what the person said."""
    new = {row.root for row in rows if row.user == user_id and agent in ("", row.agent)}
    new |= {row.root for row in rows if not row.sources.isdisjoint(runs)}
    roots: set[str | None] = set()
    conversations: set[str | None] = set()
    while new:
        roots |= new
        mine = [row for row in rows if row.root in roots]
        ids = {row.id for row in mine}
        conversations = {row.conversation for row in mine} - {None}
        new = {
            row.root
            for row in rows
            if row.conversation in conversations or not row.sources.isdisjoint(ids)
        } - roots
    return roots, conversations


def _is_erased(head: _Head, runs: set[str], conversations: set[str | None]) -> bool:
    return head.id in (conversations if head.type == "conversation" else runs)
