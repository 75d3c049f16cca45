"""Consolidate several memories into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from memory.actions.forget import forget
from memory.actions.remember import remember
from memory.choices import Scope
from memory.errors import InvalidMemoryError
from memory.history import Author
from memory.models import MemoryItem
from memory.place import MemoryPlace


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
