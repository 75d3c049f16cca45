"""Store, change, forget and consolidate memories, and undo changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from memory.choices import Category, ChangeKind, Scope
from memory.errors import InvalidMemoryError, MemoryStateError
from memory.history import (
    CONTENT,
    Author,
    content_of,
    lock,
    set_importance,
    set_text,
    write_audit,
    write_change,
)
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


def consolidate(items: Sequence[MemoryItem], text: str, *, by: Author) -> MemoryItem:
    """Store one memory in place of several, which are forgotten with that reason.

    The new memory has the highest importance among them, and the category of the first.

    Args:
        items: Two or more memories of the same place.
        text: The statement that replaces their texts.
        by: Author.

    Raises:
        InvalidMemoryError: There are fewer than two memories, they belong to different places, or
        the text is not valid.
    """
    places = {_place(item) for item in items}
    if len({item.pk for item in items}) < 2 or len(places) != 1:
        raise InvalidMemoryError(
            "Consolidate two or more memories of the same scope, agent, person and conversation."
        )
    importance = max(item.importance for item in items)
    [place] = places
    tainted = any(item.from_outsiders for item in items)
    writer = replace(by, read_outsiders=by.read_outsiders or tainted)
    with transaction.atomic():
        made = remember(place, text, by=writer, category=items[0].category, importance=importance)
        for item in items:
            if item.pk != made.pk:
                forget(item, by=by, reason=f"Consolidated into memory {made.pk}.")
    return made


def _place(item: MemoryItem) -> MemoryPlace:
    return MemoryPlace(
        item.workspace_id, Scope(item.scope), item.agent, item.user_id, item.conversation_id
    )
