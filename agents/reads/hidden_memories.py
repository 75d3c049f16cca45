"""Memories in runs that a reader may not see: the memory API's rule, for all views of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from agents.choices import RunKind
from agents.journal.events import RecordedEvent, encode
from agents.journal.memory_texts import MemoryTexts, TreeTexts, hidden_memories
from agents.models import RecalledMemory, Run
from agents.runs.history import RunHistory
from agents.runtime.execution.known_memories import block_of_rows
from heartbit_site.base.access import Access
from memory.history import sees_memories_of


def texts_hidden_from(access: Access | None, root_id: UUID) -> TreeTexts | None:
    """Return the redaction of a run tree for a reader; None: the reader sees all of it.

    Args:
        access: The reader; None: the installation itself.
        root_id: Root of the tree.
    """
    if access is None:
        return None
    fields = ("started_user_id", "started_user__username")
    row = Run.objects.filter(pk=root_id).values_list(*fields).first()
    user_id, name = row or (None, None)
    if sees_memories_of(access, user_id):
        return None
    # Without a person, what the tree stored is its agent's, which everyone reads.
    return TreeTexts(name or "", hides_arguments=user_id is not None)


def texts_of_run(access: Access | None, run: Run) -> MemoryTexts | None:
    """Return the redaction of one run's journal for a reader; None: the reader sees all of it."""
    found = texts_hidden_from(access, run.root_id)
    return None if found is None else found.of(run.pk, is_extraction=run.kind == RunKind.EXTRACTION)


def history_for(past: RunHistory, texts: MemoryTexts | None) -> RunHistory:
    """Return a run's history as a reader may see it."""
    if texts is None:
        return past
    journal = [RecordedEvent(one.seq, one.at, texts.redact(one.event)) for one in past.journal]
    payloads = {one.seq: encode(one.event)["payload"] for one in journal}
    return replace(past, journal=journal, payloads=payloads)


def split_known(access: Access | None, run: Run) -> tuple[Sequence[RecalledMemory], str]:
    """Return the memories that a run was given at its start, and a sentence on those not shown."""
    rows = list(
        RecalledMemory.objects.filter(run=run).select_related("item", "item__user", "person")
    )
    if access is None:
        return rows, ""
    owners = [row.person if row.item is None else row.item.user for row in rows]
    shown: list[RecalledMemory] = []
    hidden: list[RecalledMemory] = []
    for row, owner in zip(rows, owners, strict=True):
        seen = owner is None or sees_memories_of(access, owner.pk)
        (shown if seen else hidden).append(row)
    names = {
        owner.get_username()
        for row, owner in zip(rows, owners, strict=True)
        if owner is not None and row in hidden
    }
    said = hidden_memories(len(hidden), " and ".join(sorted(names))) if hidden else ""
    return shown, said


def known_block(access: Access | None, run: Run) -> str:
    """Return the block of memories that a run was given, as a reader may see it."""
    shown, said = split_known(access, run)
    return "\n".join(part for part in (block_of_rows(shown), said) if part)
