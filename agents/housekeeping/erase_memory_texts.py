"""Erasure of what memory tools said in journals, in the database and the archives."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from agents.choices import RunKind
from agents.housekeeping import archive_files
from agents.housekeeping.archive_runs import directory
from agents.housekeeping.erase_person import ArchivedRuns
from agents.journal.erased_texts import ErasedTexts, erase_archived
from agents.journal.memory_texts import RECALL
from agents.models import Artifact, Checkpoint, Decision, Run, RunEvent, ToolCall, Wait
from heartbit_site.base.models import Workspace
from heartbit_site.base.people import User
from heartbit_site.base.query import execute


def erase_memory_texts(workspace: Workspace, user: User, agent: str) -> None:
    """Replace the texts of memory tools in the journals of a person's runs that have ended.

    ``HEARTBIT_ERASE_MEMORY_TEXTS`` names this function for the memory app. The runs stay, and can
    be forked. What people and models said in their own words stays as well.

    Args:
        workspace: Runs of other workspaces stay as they are.
        user: The person.
        agent: Only trees of this agent; empty: of all agents.

    Raises:
        ArchiveError: An archive cannot be rewritten; a second erasure does the rest.
        ArchivingError: Another process is archiving.
    """
    trees = Run.objects.filter(workspace=workspace, root__started_user=user)
    ended = trees.filter(finished_at__isnull=False)
    if agent:
        ended = ended.filter(root__agent=agent)
    with ExitStack() as stack:
        if directory().is_dir():  # otherwise nothing was ever archived here
            stack.enter_context(archive_files.locked(directory()))
            archives = ArchivedRuns(directory(), workspace.slug)
            archived = archives.runs_of(user.pk, agent=agent)
            archives.change(partial(erase_archived, runs=archived), archived)
        for run_id, kind in ended.values_list("pk", "kind"):
            _erase(run_id, is_extraction=kind == RunKind.EXTRACTION)


@transaction.atomic
def _erase(run_id: UUID, *, is_extraction: bool) -> None:
    texts = ErasedTexts(is_extraction=is_extraction)
    execute("SELECT set_config('heartbit.erasing', 'on', true)")  # see sql/guards.sql
    events: QuerySet[Any] = RunEvent.objects.filter(run=run_id)
    for row in events.order_by("seq").values("seq", "type", "payload").iterator():
        if changed := texts.event(row):
            events.filter(seq=row["seq"]).update(**changed)
    execute("SELECT set_config('heartbit.erasing', '', true)")
    parts: Any = ((ToolCall, texts.call), (Decision, texts.decision), (Wait, texts.wait))
    for model, erase in parts:
        rows: QuerySet[Any] = model._default_manager.filter(run=run_id)
        for column_values in rows.values():
            if changed := erase(column_values):
                rows.filter(pk=column_values["id"]).update(**changed)
    Artifact.objects.filter(run=run_id, name__startswith=f"{RECALL}-").delete()
    Checkpoint.objects.filter(run=run_id).delete()  # a cache of the journal
