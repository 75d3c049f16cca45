"""Retention of memories: what was not used for the workspace's days is erased for good."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from agents.reads.usage import usage_of
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import AuditEntry, Tier, Workspace
from memory.actions.erase import expire_memories
from memory.actions.memories import remember
from memory.actions.policy import save_policy
from memory.choices import Scope
from memory.history import Author, MemoryPlace
from memory.models import MemoryChange, MemoryItem

pytestmark = pytest.mark.django_db


def test_memories_that_were_not_used_for_the_days_are_erased(db: None) -> None:
    here = Workspace.objects.create(slug="memory-days", name="Here")
    kept = Workspace.objects.create(slug="memory-kept", name="Kept")

    def aged(workspace: Workspace, text: str, *, changed: int, used: int | None = None) -> None:
        item = remember(MemoryPlace(workspace.pk, Scope.WORKSPACE), text, by=Author(SYSTEM))
        now = timezone.now()
        used_at = None if used is None else now - timedelta(days=used)
        MemoryItem.objects.filter(pk=item.pk).update(
            updated_at=now - timedelta(days=changed), used_at=used_at
        )

    aged(here, "canary-of-days", changed=31)
    aged(here, "canary-of-days and recalled", changed=90, used=31)
    aged(here, "Used.", changed=90, used=29)
    aged(here, "New.", changed=29)
    aged(kept, "Old.", changed=900)
    assert expire_memories() == 0
    save_policy(kept, by=SYSTEM, embedding_model="", kept_days=None)
    save_policy(here, by=SYSTEM, embedding_model="", kept_days=30)
    assert expire_memories() == 2
    assert expire_memories() == 0
    mine = MemoryItem.objects.filter(workspace__in=[here, kept])
    assert set(mine.values_list("text", flat=True)) == {"Used.", "New.", "Old."}
    entries = AuditEntry.objects.filter(workspace=here)
    left = [*MemoryItem.objects.values(), *MemoryChange.objects.values(), *entries.values()]
    assert "canary-of-days" not in str(left)
    assert entries.get(action="memory.expire").details == {"memories": 2, "kept_days": 30}


def test_the_smaller_of_the_tiers_and_the_workspaces_own_days_counts(db: None) -> None:
    assert dict(Tier.objects.exclude(name__contains="-").values_list("name", "memory_days")) == {
        "free": 7,
        "starter": 30,
        "pro": 90,
        "business": None,
    }
    tier = Tier.objects.get(name="starter")
    here = Workspace.objects.create(slug="memory-tier", name="Here", tier=tier)
    item = remember(MemoryPlace(here.pk, Scope.WORKSPACE), "Old.", by=Author(SYSTEM))
    assert usage_of(here).memory_days == 30
    MemoryItem.objects.filter(pk=item.pk).update(updated_at=timezone.now() - timedelta(days=29))
    assert expire_memories() == 0
    save_policy(here, by=SYSTEM, embedding_model="", kept_days=90)
    assert (usage_of(here).memory_days, expire_memories()) == (30, 0)
    save_policy(here, by=SYSTEM, embedding_model="", kept_days=7)
    assert (usage_of(here).memory_days, expire_memories()) == (7, 1)


def test_other_days_are_refused(db: None) -> None:
    here = Workspace.objects.create(slug="memory-days", name="Here")
    with pytest.raises(HeartbitError, match="kept for 7, 30 or 90 days"):
        save_policy(here, by=SYSTEM, embedding_model="", kept_days=8)
