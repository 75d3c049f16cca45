"""Erasure of a person's runs from the database, the live output and the archives."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User

from agents.actions.erase_runs import erase_runs, reached_runs
from agents.housekeeping import archive_files
from agents.housekeeping.archive_runs import directory
from agents.journal.events import RunForked
from agents.models import Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace


class ArchivedRuns:
    """The archive files of a workspace, in which a person's runs are found and then erased.

    As in the database, whole trees and conversations are erased, with forks of their runs. The
    caller has locked the directory.

    Args:
        directory: Directory of archives.
        slug: The workspace's.

    Raises:
        ArchiveError: A file cannot be read or written; it is unchanged.
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
            agent: Start only from runs of this agent; empty for all agents.
            runs: Ids of runs that are erased elsewhere, whose forks are erased here.
        """
        rows = [head for heads in self._heads.values() for head in heads if head.type == "run"]
        roots, self._conversations = _reached(rows, user_id, agent, set(map(str, runs)))
        self._runs = {str(row.id) for row in rows if row.root in roots}
        return {UUID(one) for one in self._runs}

    def erase(self) -> None:
        """Rewrite the files without the runs of the last ``reach``."""
        for path, heads in self._heads.items():
            gone = [
                head.id in (self._conversations if head.type == "conversation" else self._runs)
                for head in heads
            ]
            if any(gone):
                lines = zip(archive_files.read(path), gone, strict=True)
                archive_files.replace(path, (line for line, is_erased in lines if not is_erased))


class _Head(NamedTuple):
    """Ids that decide whether a line is erased; an artifact has those of its run."""

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
    # The row has no link if the source was archived first. The journal names the direct source,
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


def erase_runs_everywhere(workspace: Workspace, user: User, *, agent: str, by: Actor) -> int:
    """Permanently delete a person's runs, archived ones too; return their number.

    ``HEARTBIT_ERASE_RUNS`` names this function for the memory app. Nothing is archived in the
    meantime. After an error, a repetition completes the erasure, but no longer finds what came from
    runs that were erased from an archive before the error: forks, messages and plans in the
    database.

    Args:
        workspace: Runs of other workspaces stay.
        user: The person.
        agent: Start only from runs of this agent; empty for all agents.
        by: Author.

    Raises:
        ArchiveError: An archive cannot be rewritten.
        ArchivingError: Another process is archiving.
        LiveOutputError: Valkey is down; nothing was deleted from the database.
    """
    with archive_files.locked(directory()):
        archives = ArchivedRuns(directory(), workspace.slug)
        archived: set[UUID] = set()
        while True:  # a fork in an archive may be one of a run here, whose source is in an archive
            roots, _ = reached_runs(workspace, user, agent, archived)
            here = Run.objects.filter(root_id__in=roots).values_list("pk", flat=True)
            found = archives.reach(user.pk, agent=agent, runs={*here, *archived})
            if found <= archived:
                break
            archived |= found
        archives.erase()
        return len(archived) + erase_runs(workspace, user, agent=agent, by=by, archived=archived)
