"""Erasure of a person's runs from the database, the live output and the archives."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from agents.actions.erase_runs import erase_runs, reached_runs
from agents.housekeeping import archive_files
from agents.housekeeping.archive_runs import directory
from agents.journal.events import RunForked
from agents.models import Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.people import User


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
        for path, gone in self._gone():
            lines = zip(archive_files.read(path), gone, strict=True)
            archive_files.replace(path, (line for line, is_erased in lines if not is_erased))

    def lines(self, without: Collection[str] = ()) -> Iterator[str]:
        """Yield the lines that ``erase`` would delete.

        Args:
            without: Ids of runs and conversations whose lines are left out.
        """
        for path, gone in self._gone():
            lines = zip(archive_files.read(path), self._heads[path], gone, strict=True)
            yield from (
                line for line, head, is_erased in lines if is_erased and head.id not in without
            )

    def private_to_others(self, reader: int | None) -> set[str]:
        """Return the ids of the runs and conversations that only other persons read."""
        heads = [one for rows in self._heads.values() for one in rows]
        return {str(one.id) for one in heads if one.private_to not in (None, reader)}

    def runs_of(self, user_id: int, *, agent: str) -> set[str]:
        """Return the ids of the runs in trees that a person started.

        Args:
            user_id: The person.
            agent: Only trees of this agent; empty for all agents.
        """
        heads = [one for rows in self._heads.values() for one in rows if one.type == "run"]
        own = {one.id for one in heads if one.user == user_id and agent in ("", one.agent)}
        return {str(one.id) for one in heads if one.root in own}

    def change(self, changed: Callable[[Iterator[str]], Iterable[str]], runs: set[str]) -> None:
        """Rewrite the files that have some runs.

        Args:
            changed: Returns the lines of a file as they are from now on.
            runs: Ids of the runs.
        """
        for path, heads in self._heads.items():
            if any(head.id in runs for head in heads):
                archive_files.replace(path, changed(archive_files.read(path)))

    def _gone(self) -> Iterator[tuple[Path, list[bool]]]:
        """Yield each file that has runs of the last ``reach``, and which lines are theirs."""
        for path, heads in self._heads.items():
            gone = [
                head.id in (self._conversations if head.type == "conversation" else self._runs)
                for head in heads
            ]
            if any(gone):
                yield path, gone


class _Head(NamedTuple):
    """Ids that decide whether a line is erased; an artifact has those of its run."""

    type: str
    id: str | None
    root: str | None = None
    conversation: str | None = None
    sources: frozenset[str] = frozenset()
    agent: str | None = None
    user: int | None = None
    private_to: int | None = None


def _head(line: str) -> _Head:
    entry = json.loads(line)
    kind: str = entry["type"]
    if kind != "run":
        talk = entry.get("conversation", {})
        private_to = talk.get("private_to_id")
        return _Head(kind, talk.get("id", entry.get("run_id")), private_to=private_to)
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
        run.get("private_to_id"),
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


def find_archived(
    archives: ArchivedRuns,
    workspace: Workspace,
    user: User,
    *,
    agent: str,
    known: Collection[UUID] = (),
) -> set[UUID]:
    """Return the ids of the archived runs that an erasure reaches.

    Args:
        archives: The workspace's archives.
        workspace: Its workspace.
        user: The person.
        agent: Start only from runs of this agent; empty for all agents.
        known: Runs that were erased from the archives before.
    """
    archived = set(known)
    while True:  # a fork in an archive may be one of a run here, whose source is in an archive
        roots, _ = reached_runs(workspace, user, agent, archived)
        here = Run.objects.filter(root_id__in=roots).values_list("pk", flat=True)
        found = archives.reach(user.pk, agent=agent, runs={*here, *archived})
        if found <= archived:
            return archived
        archived |= found


def erase_runs_everywhere(workspace: Workspace, user: User, *, agent: str, by: Actor) -> int:
    """Permanently delete a person's runs, archived ones too; return their number.

    ``HEARTBIT_ERASE_RUNS`` names this function for the memory app. Nothing is archived in the
    meantime. The ids of archived runs are noted before the archives are rewritten, until the rows
    are deleted: after an error, a repetition finds what came from them.

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
        note = directory() / f"erasing.{workspace.slug}.{user.pk}.gz"
        noted = {UUID(one) for one in archive_files.read(note)} if note.exists() else set()
        archives = ArchivedRuns(directory(), workspace.slug)
        archived = find_archived(archives, workspace, user, agent=agent, known=noted)
        if archived:
            archive_files.replace(note, map(str, archived))
        archives.erase()
        erased = erase_runs(workspace, user, agent=agent, by=by, archived=archived)
        if archived:
            archive_files.replace(note, ())
        return len(archived) + erased
