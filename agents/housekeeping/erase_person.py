"""Erase a person's runs from the database, the live output and the archives."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import User

from agents.actions.erase_runs import erase_runs, reached_runs
from agents.housekeeping import archive_files
from agents.housekeeping.archive_runs import directory
from agents.housekeeping.erase_archived import ArchivedRuns
from agents.models import Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace


def erase_runs_everywhere(workspace: Workspace, user: User, *, agent: str, by: Actor) -> int:
    """Delete a person's runs for good, archived ones too; return their number.

    ``HEARTBIT_ERASE_RUNS`` names this function for the memory app. Nothing is archived meanwhile.
    After an error, to repeat it does the rest, but no longer finds what came of runs that were
    erased from an archive before the error: forks, messages and plans in the database.

    Args:
        workspace: Runs of other workspaces stay.
        user: The person.
        agent: Start from runs of this agent alone; empty: of all agents.
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
