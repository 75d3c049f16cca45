"""Supersede a memory."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from memory.choices import Category, ChangeKind
from memory.errors import MemoryStateError
from memory.history import CONTENT, Author, content_of, lock, set_importance, set_text, write_change
from memory.models import MemoryItem


def supersede(item: MemoryItem, *, by: Author, reason: str = "", **content: Any) -> MemoryItem:
    """Replace a memory's content; its history keeps the previous content.

    Args:
        item: The memory.
        by: Author.
        reason: Reason of the change.
        content: ``text``, ``category``, ``importance`` or ``metadata``; omitted fields are
            unchanged.

    Raises:
        InvalidMemoryError: A value is not valid.
        MemoryNotFoundError: It was erased.
        MemoryStateError: It is forgotten.
    """
    unknown = content.keys() - set(CONTENT)
    if unknown:
        raise TypeError(f"a memory has no field {', '.join(sorted(unknown))}")
    with transaction.atomic():
        row = lock(item)
        if row.forgotten_at is not None:
            raise MemoryStateError(f"Memory {row.pk} is forgotten: undo its last change first.")
        before = content_of(row)
        put_content(row, content)
        if row.text != before["text"]:
            row.from_outsiders = by.read_outsiders
        if content_of(row) != before:
            row.updated_at = Now()
            row.save()
            write_change(row, ChangeKind.SUPERSEDED, by, reason=reason, before=before)
    row.refresh_from_db()
    return row


def put_content(row: MemoryItem, content: dict[str, Any]) -> None:
    """Set the given content of a memory's row, without saving it."""
    if "text" in content and content["text"] != row.text:
        set_text(row, content["text"])
    if "importance" in content:
        set_importance(row, content["importance"])
    if "category" in content:
        row.category = Category(content["category"])
    if "metadata" in content:
        row.metadata = dict(content["metadata"])
    row.from_outsiders = content.get("from_outsiders", row.from_outsiders)
