"""Undo the last change of a memory."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from memory.actions.supersede import put_content
from memory.choices import ChangeKind
from memory.errors import MemoryStateError
from memory.history import Author, lock, write_audit
from memory.models import MemoryItem


def undo(item: MemoryItem, *, by: Author) -> MemoryItem:
    """Undo the last change that has not been undone: a supersession, or forgetting the memory.

    A second undo reverts the change before that. The history keeps every change.

    Raises:
        MemoryNotFoundError: It was erased.
        MemoryStateError: There is no change to undo.
    """
    with transaction.atomic():
        row = lock(item)
        change = row.changes.filter(undone_at=None).exclude(kind=ChangeKind.REMEMBERED).first()
        if change is None:
            raise MemoryStateError(f"Memory {row.pk} has no change to undo.")
        put_content(row, change.before or {})
        if change.kind == ChangeKind.FORGOTTEN:
            row.forgotten_at = None
        row.updated_at = Now()
        row.save()
        change.undone_at = Now()
        change.save(update_fields=["undone_at"])
        write_audit(row, "undone", by)
    row.refresh_from_db()
    return row
