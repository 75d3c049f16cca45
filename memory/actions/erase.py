"""Erase the memories of a person, or everything that the person said."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.module_loading import import_string

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from memory.models import MemoryItem
from memory.providers.calls import call_erase
from memory.providers.choice import provider_name


@dataclass(frozen=True, slots=True)
class Erased:
    """Numbers of erased memories and runs."""

    memories: int
    runs: int


def erase_person(workspace: Workspace, user: User, *, by: Actor, agent: str = "") -> Erased:
    """Permanently delete everything a person said to agents, and what agents remember of it.

    First the person's runs with their trees and conversations, in the database, the live output and
    the archives: journals contain the arguments and results of memory tools. Then the memories, as
    ``erase_memories`` does.

    Args:
        workspace: What is in other workspaces stays.
        user: The person.
        by: Author.
        agent: Erase what was said to this agent alone; empty: to all agents.

    Raises:
        HeartbitError: An archive or another memory provider failed; a second erasure does the rest.
    """
    require(by, "workspace:manage", "runs:write", workspace_id=workspace.pk)
    erase = import_string(settings.HEARTBIT_ERASE_RUNS)
    runs: int = erase(workspace, user, agent=agent, by=by)
    return Erased(erase_memories(workspace, user, by=by, agent=agent), runs)


def erase_memories(workspace: Workspace, user: User, *, by: Actor, agent: str = "") -> int:
    """Permanently delete all memories of a person with their histories; return their number.

    The runs that extracted memories of that person go with them, so that none stores one later.
    The audit records the erasure, but not what was erased. Last, another configured memory provider
    is asked to erase what it knows.

    Args:
        workspace: Memories of other workspaces stay.
        user: The person.
        by: Author.
        agent: Erase this agent's memories of the person alone; empty: those of all agents.

    Raises:
        MemoryProviderError: The other provider failed. Heartbit's own memories are erased; a second
        erasure asks the provider again.
    """
    require(by, "workspace:manage", "runs:write", workspace_id=workspace.pk)
    with transaction.atomic():
        # First: a run that is storing now has stored, or cannot any more.
        import_string(settings.HEARTBIT_ERASE_EXTRACTIONS)(workspace, user, agent)
        rows = MemoryItem.objects.filter(workspace=workspace, user=user)
        if agent:
            rows = rows.filter(agent=agent)
        _, deleted = rows.delete()
        audit.record(
            by,
            "memory.erase",
            workspace=workspace,
            target=f"user:{user.pk}",
            label=user.get_username(),
            details={"agent": agent} if agent else {},
        )
    if provider_name():
        call_erase(workspace.pk, user.pk, agent)
        # What a run was given while the provider was still erasing.
        import_string(settings.HEARTBIT_ERASE_EXTRACTIONS)(workspace, user, agent)
    return deleted.get(MemoryItem._meta.label, 0)
