"""Erase the memories whose retention time has passed."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models.functions import Coalesce, Greatest, Now

from heartbit_site.base import audit
from memory.models import MemoryItem, MemoryPolicy

MOST_AT_ONCE: Final = 10_000


def expire_memories() -> int:
    """Delete memories that were neither changed nor recalled for their workspace's days.

    Their histories, vectors and the copies that runs were given are deleted too; the audit records
    their number. Deletes at most 10,000 per workspace, because it is called every hour.
    """
    return sum(_expire(policy) for policy in MemoryPolicy.objects.exclude(kept_days=None))


def _expire(policy: MemoryPolicy) -> int:
    last = Greatest("updated_at", Coalesce("used_at", "updated_at"))
    rows = MemoryItem.objects.filter(workspace=policy.workspace_id).annotate(last=last)
    old = rows.filter(last__lt=Now() - timedelta(days=policy.kept_days or 0)).order_by("last")
    ids = list(old.values_list("pk", flat=True)[:MOST_AT_ONCE])
    if not ids:
        return 0
    with transaction.atomic():
        _, deleted = MemoryItem.objects.filter(pk__in=ids).delete()
        count = deleted.get(MemoryItem._meta.label, 0)
        audit.record(
            audit.SYSTEM,
            "memory.expire",
            workspace=policy.workspace,
            target=f"workspace:{policy.workspace_id}",
            label=policy.workspace.slug,
            details={"memories": count, "kept_days": policy.kept_days},
        )
    return count
