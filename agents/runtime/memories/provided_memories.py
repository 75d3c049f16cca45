"""Texts of another memory provider at the start of a run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction

from agents.loop import known
from agents.models import RecalledMemory
from agents.runs.acting_person import acts_for, lock_and_ask
from heartbit_site.base import orm
from memory.errors import MemoryProviderError
from memory.providers.calls import call_before, provider_name
from memory.providers.protocol import MemoryContext, ProvidedText

if TYPE_CHECKING:
    from agents.runs.claims import ClaimedRun

logger = logging.getLogger(__name__)


async def provided_at_start(claimed: ClaimedRun, task: str, tokens: int) -> list[RecalledMemory]:
    """Return the provider's texts that fit, as stored rows; none if it fails, which is logged.

    Rows stored before a crash are reused.

    Args:
        claimed: The run.
        task: Its task, truncated for the provider.
        tokens: Maximum estimated tokens of the block.
    """
    stored = await orm.read_in_thread(partial(_stored, claimed))
    if stored:
        return stored
    person = await orm.read_in_thread(partial(acts_for, claimed.id))
    context = MemoryContext(
        claimed.id, claimed.workspace_id, claimed.agent, person, claimed.conversation_id
    )
    try:
        texts = await call_before(context, task, claimed.root_id)
    except MemoryProviderError as error:
        logger.warning("run %s starts without memories: %s", claimed.id, error)
        return []
    return await orm.run_in_thread(partial(_store, claimed, person, texts, tokens))


def _stored(claimed: ClaimedRun) -> list[RecalledMemory]:
    return list(RecalledMemory.objects.filter(run=claimed.id))


def _store(
    claimed: ClaimedRun, person: int | None, texts: Sequence[ProvidedText], tokens: int
) -> list[RecalledMemory]:
    made = [
        RecalledMemory(
            run_id=claimed.id,
            provider=provider_name(claimed.root_id),
            person_id=person,
            from_outsiders=one.from_outsiders,
            position=place,
            text=one.text,
            source=one.source,
            why=one.why,
        )
        for place, one in enumerate(texts)
    ]
    lines = [known.KnownMemory(row.title, row.text, row.source) for row in made]
    with transaction.atomic():
        if lock_and_ask(claimed.root_id, claimed.id) == person:  # no one else spoke
            fitting = made[: len(known.fitting(lines, tokens))]
            RecalledMemory.objects.bulk_create(fitting, ignore_conflicts=True)
    return _stored(claimed)  # a worker that lost the run may have stored its rows first
