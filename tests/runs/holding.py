"""A worker's side of a run, without a worker: claim it, hold its lease, write its journal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.conf import settings

from agents.choices import Placement
from agents.journal.events import ModelAnswered
from agents.llm.messages import AssistantMessage, ToolCall, Usage
from agents.loop.ports import Committed, PendingSuspension
from agents.models import Run, WorkerHeartbeat
from agents.runs.claims import Claimant, ClaimedRun, claim
from agents.runs.lease import Lease
from agents.runs.pool import Pool, open_pool
from heartbit_site.base import orm
from heartbit_site.base.ids import new_id
from heartbit_site.base.suspensions import ChildTask, Suspension
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from uuid import UUID

    from heartbit_site.base.models import Workspace


@pytest.fixture
async def pool(database: None) -> AsyncIterator[Pool]:
    opened = open_pool(settings.DATABASE_URL)
    await opened.open(wait=True)
    yield opened
    await opened.close()


@pytest.fixture
def claimant(database: None) -> Claimant:
    row = WorkerHeartbeat.objects.create(name="test:1", home=Placement.LOCAL, lease_seconds=3600)
    return Claimant(row.pk, row.name, Placement.LOCAL, (), "openai:fake", alone=True)


def accept(workspace: Workspace, agent: str = "orchestrator") -> UUID:
    return start_run(workspace, "Do it.", agent=agent, home=Placement.LOCAL)


async def hold(pool: Pool, claimant: Claimant, run_id: UUID) -> tuple[ClaimedRun, Lease]:
    claimed = await claim(pool, claimant, run_id, task_id="task")
    assert isinstance(claimed, ClaimedRun)
    return claimed, Lease(pool, claimed, executor=orm.shared(), on_commit=lambda seq: None)


async def suspended_on(
    pool: Pool, claimant: Claimant, run_id: UUID, agents: list[str], timeout: float = 60
) -> list[UUID]:
    """Bring a run to waiting on children of these agents."""
    _, lease = await hold(pool, claimant, run_id)
    await lease.record(answer(1, ToolCall("c", "delegate_task", "{}")))
    ids = [new_id() for _ in agents]
    tasks = (ChildTask(agent, "Part.", one) for agent, one in zip(agents, ids, strict=True))
    result = await lease.suspend(PendingSuspension("1.0", Suspension(tuple(tasks), timeout)))
    assert isinstance(result, Committed)
    return ids


def answer(turn: int, *calls: ToolCall, text: str = "") -> ModelAnswered:
    message = AssistantMessage(text=text, tool_calls=calls)
    usage = Usage(input_tokens=7, output_tokens=3)
    return ModelAnswered(turn, message, usage, "stop", "openai:fake", cost_usd="0.25")


async def fetch(run_id: UUID) -> Run:
    return await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))


async def blocked(connection: psycopg.AsyncConnection) -> None:
    """Return once somebody waits for a lock that this connection holds."""
    query = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
    watcher = await psycopg.AsyncConnection.connect(settings.DATABASE_URL, autocommit=True)
    async with watcher:
        while not await (await watcher.execute(query, (connection.info.backend_pid,))).fetchall():
            await asyncio.sleep(0.01)
