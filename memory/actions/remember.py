"""Store a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from memory.choices import Category, ChangeKind
from memory.history import Author, set_importance, set_text, write_change
from memory.models import MemoryItem
from memory.place import MemoryPlace


def remember(
    place: MemoryPlace,
    text: str,
    *,
    by: Author,
    category: str = Category.FACT,
    importance: int = 5,
    metadata: Mapping[str, Any] | None = None,
) -> MemoryItem:
    """Store a memory and return it; if its place already has this text, return that memory.

    Args:
        place: Its scope and owners.
        text: One statement.
        by: Author.
        category: A value of ``Category``.
        importance: From 1 to 10.
        metadata: Free JSON.

    Raises:
        InvalidMemoryError: The place is incomplete, or the text or importance is not valid.
    """
    item = MemoryItem(**place.columns(), category=Category(category), metadata=dict(metadata or {}))
    item.from_outsiders = by.read_outsiders
    set_text(item, text)
    set_importance(item, importance)
    known = MemoryItem.objects.live().filter(**place.columns(), text__iexact=item.text).first()
    if known is not None:
        found: MemoryItem = known
        return found
    with transaction.atomic():
        item.save()
        write_change(item, ChangeKind.REMEMBERED, by, reason="", before=None)
    item.refresh_from_db()
    return item
