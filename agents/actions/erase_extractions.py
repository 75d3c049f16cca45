"""Delete the runs that extracted a person's memories, and what other providers knew."""

from __future__ import annotations

from django.contrib.auth.models import User

from agents.choices import RunKind
from agents.live.changes import notify_on_commit
from agents.models import RecalledMemory, Run
from heartbit_site.base.models import Workspace


def erase_extractions(workspace: Workspace, user: User, agent: str) -> None:
    """Delete a person's extractions with their journals, in the caller's transaction.

    ``HEARTBIT_ERASE_EXTRACTIONS`` names this function for the memory app. A worker that executes
    one of them has lost its lease then. Texts that another memory provider returned for the person
    at the start of runs go too. Their archives never had what was said, and the usage
    ledger keeps their cost.

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
