"""Delete the runs of a person, with all copies of their texts."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.module_loading import import_string

from agents.actions.person_places import Reached, places_of
from agents.choices import RunKind
from agents.journal.events import RunForked
from agents.live.changes import notify_on_commit
from agents.live.valkey import erase_streams
from agents.models import MemoryExtraction, Message, RecalledMemory, Run, RunEvent
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.people import User
from heartbit_site.base.query import execute
from heartbit_site.base.rights import require


def erase_runs(
    workspace: Workspace, user: User, *, agent: str, by: Actor, archived: Collection[UUID] = ()
) -> int:
    """Delete a person's runs for good, live ones too, and return their number.

    The deletion includes the whole trees and conversations of these runs, because their texts are
    the history of later runs; forks, which copy their journals; the agents' messages and schedules,
    and the runs that these started; shared memories and entries of the state store that one of
    these runs stored or changed. A worker that executes one of the runs loses its lease. The usage
    ledger keeps their cost. If the runs of all agents are deleted, the person's own credentials,
    saved views and entries of the state store are deleted too, and the name where other rows keep
    it (``agents.actions.person_places``).

    Args:
        workspace: Runs of other workspaces stay.
        user: The person.
        agent: Start from runs of this agent only; empty: of all agents.
        by: Author.
        archived: Ids of runs that are erased from archives; their messages, schedules and started
            runs are deleted too.

    Raises:
        LiveOutputError: Valkey is down; nothing was deleted.
    """
    require(by, "workspace:manage", "runs:write", workspace_id=workspace.pk)
    with transaction.atomic():
        roots, conversations = reached_runs(workspace, user, agent, archived)
        runs = _lock_trees(roots)
        reached = Reached(
            workspace, user, agent, frozenset(roots), frozenset(conversations), runs.union(archived)
        )
        execute("SELECT set_config('heartbit.erasing', 'on', true)")  # see sql/guards.sql
        for place in places_of(reached):
            place.erase(reached)
        execute("SELECT set_config('heartbit.erasing', '', true)")
        # Before the commit: after it, nothing knows their ids.
        erase_streams(runs)
        audit.record_person(by, "person.erase", user, workspace, {"agent": agent} if agent else {})
        notify_on_commit(workspace.pk, "runs", "calls")
    return len(runs)


def _lock_trees(roots: Collection[UUID]) -> frozenset[UUID]:
    """Lock the trees of some roots, in the order of the SQL functions; return their runs."""
    trees = Run.objects.filter(root_id__in=roots).order_by("created_at", "pk")
    return frozenset(trees.select_for_update(of=("self",)).values_list("pk", flat=True))


def reached_runs(
    workspace: Workspace, user: User, agent: str, archived: Collection[UUID] = ()
) -> tuple[set[UUID], set[UUID]]:
    """Return the roots and conversations that hold, continue or copy what a person said.

    The arguments are those of ``erase_runs``.
    """
    here = Run.objects.filter(workspace=workspace)
    started = here.filter(started_user=user)
    new = set((started.filter(agent=agent) if agent else started).values_list("root_id", flat=True))
    if archived:  # the link of a fork goes with its source's row, and its journal keeps the id
        sources = [str(one) for one in archived]
        forks = RunEvent.objects.filter(type=RunForked.type, payload__source__in=sources)
        orphans = here.filter(forked_seq__gt=0, forked_from=None, pk__in=forks.values("run_id"))
        begun = here.filter(pk__in=_begun_by(workspace, archived))
        new |= {
            *orphans.values_list("root_id", flat=True),
            *begun.values_list("root_id", flat=True),
        }
    roots: set[UUID] = set()
    conversations: set[UUID] = set()
    while new:
        roots |= new
        trees = here.filter(root_id__in=new)
        ids = list(trees.values_list("pk", flat=True))
        talks = set(trees.exclude(conversation=None).values_list("conversation", flat=True))
        conversations |= talks
        follow_ups = MemoryExtraction.objects.filter(source__in=ids)
        reached = here.filter(
            Q(conversation__in=talks)
            | Q(forked_from__in=ids)
            | Q(pk__in=_begun_by(workspace, ids))
            | Q(pk__in=follow_ups.values("run_id"))
        )
        new = set(reached.values_list("root_id", flat=True)) - roots
    return roots, conversations


def _begun_by(workspace: Workspace, runs: Collection[UUID]) -> set[UUID]:
    """Return the ids of the runs that were started by messages and schedules of these runs."""
    messages = Message.objects.filter(workspace=workspace, source_run_id__in=runs)
    begun = {one for one in messages.values_list("run_id", flat=True) if one is not None}
    planned: set[UUID] = import_string(settings.HEARTBIT_PLANNED_RUNS)(workspace, runs)
    return begun | planned


def erase_extractions(workspace: Workspace, user: User, agent: str) -> None:
    """Delete a person's extractions with their journals, in the caller's transaction.

    ``HEARTBIT_ERASE_EXTRACTIONS`` names this function for the memory app. A worker that executes
    one of them loses its lease. Texts that another memory provider returned for the person at the
    start of runs are deleted too. Archives of extractions contain none of these texts, and the
    usage ledger keeps their cost.

    Args:
        workspace: The workspace.
        user: The person.
        agent: The agent's name; empty: all agents.
    """
    rows = Run.objects.filter(workspace=workspace, kind=RunKind.EXTRACTION, started_user=user)
    given = RecalledMemory.objects.filter(run__workspace=workspace, item=None, person=user)
    if agent:
        rows, given = rows.filter(agent=agent), given.filter(run__agent=agent)
    given.delete()
    if rows.delete()[0]:
        notify_on_commit(workspace.pk, "runs")
