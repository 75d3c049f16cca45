"""Visibility of memories: the rule of the memory API and of all views of recalled memories."""

from __future__ import annotations

from typing import Final

from django.db.models import Q

from heartbit_site.base.access import Access
from memory.models import MemoryItem
from memory.querysets import MemoryQuerySet

#: The scope that shows the memories of every person of the workspace.
MANAGE: Final = "workspace:manage"


def visible_memories(access: Access) -> MemoryQuerySet:
    """Return the memories that a caller may see; managers see those of all persons."""
    rows = MemoryItem.objects.filter(workspace=access.workspace)
    if access.allows(MANAGE):
        return rows
    return rows.filter(Q(user=None) | Q(user__isnull=False, user_id=access.user_id))


def sees_memories_of(access: Access, user_id: int | None) -> bool:
    """Return True if ``visible_memories`` has a person's.

    Args:
        access: The caller.
        user_id: The person; None: a person whose account is gone, whose memories only managers see.
    """
    return access.allows(MANAGE) or (user_id is not None and user_id == access.user_id)
