"""Refuse words to a run by persons who may not read what it remembers: it would tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db.models.functions import Coalesce

from agents.journal.memory_texts import is_recall
from agents.models import RecalledMemory, Run, ToolCall
from heartbit_site.base.errors import ForbiddenError
from memory.visibility import MANAGE, sees_memories_of

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor


def refuse_reader(run: Run, by: Actor) -> None:
    """Raise unless the author may read the personal memories that the run's tree has recalled.

    Locks the tree's root, so that no memory is recalled before the author's words are journaled.

    Raises:
        ForbiddenError: The author may not read them.
    """
    root = Run.objects.select_for_update(no_key=True).filter(pk=run.root_id).first()
    if root is None:
        return
    hidden = sorted(user for user in _remembered(root) if not _sees(by, user))
    if not hidden:
        return
    people = get_user_model().objects.filter(pk__in=hidden).order_by("username")
    names = " and ".join(people.values_list("username", flat=True))
    raise ForbiddenError(
        f"Run {run.pk} has recalled memories of {names}, and would tell them to you: only {names} "
        "and those who manage the workspace may say something to it. Start a run of your own.",
        MANAGE,
    )


def _remembered(root: Run) -> set[int]:
    """Return the persons whose memories the tree has in its context."""
    rows = RecalledMemory.objects.filter(run__root=root)
    found = set(rows.values_list(Coalesce("item__user", "person"), flat=True))
    if root.started_user_id is not None and root.started_user_id not in found:
        names = ToolCall.objects.filter(run__root=root).values_list("tool", flat=True)
        if any(map(is_recall, names.distinct())):
            found.add(root.started_user_id)
    return {user for user in found if user is not None}


def _sees(by: Actor, user_id: int) -> bool:
    if by.access is not None:
        return sees_memories_of(by.access, user_id)
    # Heartbit itself, or a program that owns the database.
    return by.user_id == user_id or (by.via == "system" and by.user_id is None)
