"""Follow a run to the point where something waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.journal.events import ApprovalRequested, Event
from agents.live.follow import follow
from agents.live.updates import EventUpdate
from agents.querysets import calls_waiting
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor

if TYPE_CHECKING:
    from uuid import UUID

    from agents.models import ToolCall
    from tests.runtime.conftest import Studio

ANNA = Actor("anna", "terminal")


async def happened(studio: Studio, run_id: UUID, kind: type[Event], times: int = 1) -> None:
    """Return once the journal of a run holds so many events of a kind."""
    seen = 0
    async for update in follow(run_id, studio.host.window):
        if isinstance(update, EventUpdate) and isinstance(update.recorded.event, kind):
            seen += 1
            if seen == times:
                return
    raise AssertionError(f"run {run_id} ended before {times} {kind.__name__}")


async def waiting(studio: Studio, run_id: UUID, calls: int = 1) -> list[ToolCall]:
    """The calls of a run that wait for approval, once there are so many."""
    await happened(studio, run_id, ApprovalRequested, calls)
    return await orm.run_in_thread(
        lambda: list(calls_waiting(studio.workspace).filter(run__root_id=run_id))
    )
