"""Recall at the start of a run: once, before its model is first asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.db import transaction

from agents.journal.events import MemoriesRecalled
from agents.loop import known
from agents.loop.agent_state import AgentState
from agents.models import RecalledMemory
from agents.runs.acting_person import acts_for, lock_and_ask
from agents.runtime.execution.active_run import ActiveRun
from agents.runtime.memories.provided_memories import provided_at_start
from heartbit_site.base import orm
from memory.models import MemoryItem
from memory.providers.calls import provider_name
from memory.recall import Hit, recall, strengthen
from memory.scoring import Weights

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.runs.claims import ClaimedRun

_MOST: Final = 50
_MOST_QUERY: Final = 2_000


async def known_at_start(active: ActiveRun, definition: AgentDefinition) -> str:
    """Return the block of memories for the run's model; recall them at the start of the run.

    The texts are rows that are erased with the memories; the journal has only their ids.
    """
    state, claimed = active.journaled.state, active.claimed
    if state.recalled:
        return await orm.read_in_thread(partial(block_of, claimed.id))
    if not definition.recalled_tokens or state.turn or not state.task:
        return ""
    if provider_name(claimed.root_id):
        task = state.task[:_MOST_QUERY]
        kept = await provided_at_start(claimed, task, definition.recalled_tokens)
    else:
        kept = await orm.run_in_thread(partial(_recall, claimed, definition, state))
    if not kept:
        return ""
    await active.journaled.record(_event(kept))
    return _block(kept)


def block_of(run_id: UUID) -> str:
    """Return the block of a run's memories, without erased ones."""
    return _block(list(RecalledMemory.objects.filter(run=run_id)))


def block_of_rows(rows: Sequence[RecalledMemory]) -> str:
    """Format some memories of a run as the model's block."""
    return _block(rows)


def _event(rows: Sequence[RecalledMemory]) -> MemoriesRecalled:
    provided = [row for row in rows if row.provider]
    return MemoriesRecalled(
        tuple(row.item_id for row in rows if row.item_id is not None),
        provided=len(provided),
        provider=provided[0].provider if provided else "",
        from_outsiders=any(row.from_outsiders for row in provided),
    )


def _block(rows: Sequence[RecalledMemory]) -> str:
    return known.block([known.KnownMemory(row.title, row.text, row.source) for row in rows])


def _recall(
    claimed: ClaimedRun, definition: AgentDefinition, state: AgentState
) -> list[RecalledMemory]:
    """Recall and store memories up to the limit; reuse rows stored before a crash."""
    own = RecalledMemory.objects.filter(run=claimed.id)
    stored = list(own)
    if stored or not state.task:
        return stored
    person = acts_for(claimed.id)
    reach = MemoryItem.objects.recalled_by(
        claimed.workspace_id,
        claimed.agent,
        user_id=person,
        conversation_id=claimed.conversation_id,
    )
    hits = recall(
        reach,
        state.task[:_MOST_QUERY],
        limit=_MOST,
        workspace_id=claimed.workspace_id,
        weights=Weights(**definition.memory_weights),
    ).hits
    made = _rows_that_fit(claimed.id, hits, definition.recalled_tokens)
    with transaction.atomic():
        if lock_and_ask(claimed.root_id, claimed.id) != person:  # another person spoke meanwhile
            made = [row for row in made if row.item is not None and row.item.user_id is None]
        RecalledMemory.objects.bulk_create(made, ignore_conflicts=True)
        strengthen(row.item for row in made if row.item is not None)
    return list(own.all())  # a worker that lost the run may have stored its rows first


def _rows_that_fit(run_id: UUID, hits: Sequence[Hit], tokens: int) -> list[RecalledMemory]:
    rows = [
        RecalledMemory(
            run_id=run_id,
            item=hit.item,
            position=place,
            text=hit.item.text,
            source=_source(hit.item),
            why=hit.why,
        )
        for place, hit in enumerate(hits)
    ]
    lines = [known.KnownMemory(row.title, row.text, row.source) for row in rows]
    return rows[: len(known.fitting(lines, tokens))]


def _source(item: MemoryItem) -> str:
    return f"{item.get_scope_display().lower()}, learned {item.updated_at:%Y-%m-%d}"
