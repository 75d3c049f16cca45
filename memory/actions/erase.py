"""Erase the memories of a person, or those whose retention time has passed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Greatest, Now
from django.utils.module_loading import import_string

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.people import User
from heartbit_site.base.rights import require
from memory.actions.policy import memory_days
from memory.models import MemoryItem
from memory.providers.calls import call_erase, provider_name


@dataclass(frozen=True, slots=True)
class Erased:
    """Numbers of erased memories and runs."""

    memories: int
    runs: int


def erase_person(workspace: Workspace, user: User, *, by: Actor, agent: str = "") -> Erased:
    """Permanently delete everything a person said to agents, and what agents remember of it.

    The person's runs are erased first, with their trees and conversations, in the database, the
    live output and the archives: journals contain the arguments and results of memory tools. The
    memories follow, as in ``erase_memories``.

    Args:
        workspace: Data of other workspaces stays.
        user: The person.
        by: Author.
        agent: Erase texts to this agent only; empty: to all agents.

    Raises:
        HeartbitError: An archive or another memory provider failed; a second erasure does the rest.
    """
    require(by, "workspace:manage", "runs:write", workspace_id=workspace.pk)
    erase = import_string(settings.HEARTBIT_ERASE_RUNS)
    runs: int = erase(workspace, user, agent=agent, by=by)
    return Erased(_erase_rows(workspace, user, by=by, agent=agent), runs)


def erase_memories(workspace: Workspace, user: User, *, by: Actor, agent: str = "") -> int:
    """Permanently delete all memories of a person with their histories; return their number.

    Texts of memory tools in the journals and archives of the person's ended runs are replaced.
    Runs that extract memories of that person are deleted too, so that none stores a memory later.
    The audit records the erasure without the erased content. Finally, another configured memory
    provider is asked to erase its data.

    Args:
        workspace: Memories of other workspaces stay.
        user: The person.
        by: Author.
        agent: Erase only this agent's memories of the person; empty: those of all agents.

    Raises:
        ArchiveError: An archive cannot be rewritten; a second erasure does the rest.
        ArchivingError: Another process is archiving.
        MemoryProviderError: The other provider failed. Heartbit's own memories are erased; a second
        erasure asks the provider again.
    """
    require(by, "workspace:manage", "runs:write", workspace_id=workspace.pk)
    import_string(settings.HEARTBIT_ERASE_MEMORY_TEXTS)(workspace, user, agent)
    return _erase_rows(workspace, user, by=by, agent=agent)


def _erase_rows(workspace: Workspace, user: User, *, by: Actor, agent: str) -> int:
    with transaction.atomic():
        # First: a run that is storing now has stored, or cannot any more.
        import_string(settings.HEARTBIT_ERASE_EXTRACTIONS)(workspace, user, agent)
        _, deleted = MemoryItem.objects.of_person(workspace, user, agent).delete()
        audit.record_person(by, "memory.erase", user, workspace, {"agent": agent} if agent else {})
    if provider_name():
        call_erase(workspace.pk, user.pk, agent)
        # What a run was given while the provider was still erasing.
        import_string(settings.HEARTBIT_ERASE_EXTRACTIONS)(workspace, user, agent)
    return deleted.get(MemoryItem._meta.label, 0)


MOST_AT_ONCE: Final = 10_000
MOST_DAYS: Final = 36_525  # a century


def expire_memories() -> int:
    """Delete memories that were neither changed nor recalled for the days of ``memory_days``.

    Their histories, vectors and the copies that runs were given are deleted too; the audit records
    their number. Deletes at most 10,000 per workspace, because it is called every hour.
    """
    limited = Q(tier__memory_days__isnull=False) | Q(memory_policy__kept_days__isnull=False)
    rows = Workspace.objects.filter(limited).select_related("tier", "memory_policy")
    return sum(map(_expire, rows.order_by("pk")))


def _expire(workspace: Workspace) -> int:
    kept_days = memory_days(workspace) or MOST_DAYS
    last = Greatest("updated_at", Coalesce("used_at", "updated_at"))
    rows = MemoryItem.objects.filter(workspace=workspace).annotate(last=last)
    limit = Now() - timedelta(days=min(kept_days, MOST_DAYS))
    old = rows.filter(last__lt=limit).order_by("last")
    ids = list(old.values_list("pk", flat=True)[:MOST_AT_ONCE])
    if not ids:
        return 0
    with transaction.atomic():
        _, deleted = MemoryItem.objects.filter(pk__in=ids).delete()
        count = deleted.get(MemoryItem._meta.label, 0)
        details = {"memories": count, "kept_days": kept_days}
        audit.record_workspace(audit.SYSTEM, "memory.expire", workspace, details)
    return count
