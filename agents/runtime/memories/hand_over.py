"""Handing over of what was said in a run to another memory provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.journal.events import MemoriesExtracted
from memory.providers.calls import call_after, provider_name
from memory.providers.protocol import MemoryContext, Said

if TYPE_CHECKING:
    from agents.runtime.memories.extraction_source import Source


async def hand_over(source: Source) -> MemoriesExtracted:
    """Give a provider the words of a run; return the event that says so.

    Raises:
        MemoryProviderError: The provider failed, or did not answer in time.
    """
    run = source.run
    said = [Said(line.by, line.text, line.turn) for line in source.lines if line.is_new]
    context = MemoryContext(
        run.pk, run.workspace_id, run.agent, run.started_user_id, run.conversation_id
    )
    await call_after(context, said)
    return MemoriesExtracted(provided=len(said), provider=provider_name())
