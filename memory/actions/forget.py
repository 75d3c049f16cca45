"""Forget a memory."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from memory.choices import ChangeKind
from memory.history import Author, content_of, lock, write_change
from memory.models import MemoryItem


def forget(item: MemoryItem, *, by: Author, reason: str = "") -> MemoryItem:
    """Forget a memory (reversible): it is no longer recalled, but kept as a tombstone.

    Forgetting it again changes nothing. ``erase_memories`` deletes permanently.

    Raises:
        MemoryNotFoundError: It was erased.
    """
    with transaction.atomic():
        row = lock(item)
        if row.forgotten_at is None:
            row.forgotten_at = Now()
            row.save(update_fields=["forgotten_at"])
            write_change(row, ChangeKind.FORGOTTEN, by, reason=reason, before=content_of(row))
    row.refresh_from_db()
    return row
