"""Journals of a run tree as updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.live.updates import RunUpdate, Update, happened
from agents.querysets import events_after, tree

if TYPE_CHECKING:
    from uuid import UUID


def recorded(root_id: UUID) -> list[Update]:
    """Return every run of a tree, each followed by the events of its journal."""
    updates: list[Update] = []
    for row in tree(root_id):
        updates.append(RunUpdate(row))
        updates += map(happened, events_after(row.pk, 0))
    return updates
