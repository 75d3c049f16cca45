"""What an adversary found once: slices that end in ways nobody foresaw lose no run."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import psycopg
from django.db import connection

from agents.actions.runs import cancel_run
from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Run
from agents.runs import claims, lease
from agents.runs.pool import call
from heartbit_site.base import orm
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from uuid import UUID

    import pytest
    from psycopg.rows import DictRow

    from agents.runs.pool import Pool
    from tests.runtime.conftest import Studio
    from tests.runtime.test_loop import Create


async def test_a_claim_whose_answer_was_lost_is_found_and_served(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(agent)
    lost: list[DictRow | None] = []

    async def losing(pool: Pool, query: str, parameters: Sequence[Any]) -> DictRow | None:
        row = await call(pool, query, parameters)
        if not lost:
            lost.append(row)
            raise psycopg.OperationalError("the server went away after the commit")
        return row

    monkeypatch.setattr(claims, "call", losing)
    run = await studio.run("[[text: Done.]]")
    assert lost
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")


async def test_a_claim_on_its_way_when_a_drain_begins_is_handed_back(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(agent)
    drains: list[asyncio.Task[None]] = []

    async def late(pool: Pool, query: str, parameters: Sequence[Any]) -> DictRow | None:
        row = await call(pool, query, parameters)
        drains.append(asyncio.create_task(studio.host.process.drain()))
        await drains[0]
        return row

    monkeypatch.setattr(claims, "call", late)
    run_id = await studio.start("[[hang: headers]]")
    async with asyncio.timeout(5):
        while not await orm.run_in_thread(
            lambda: Run.objects.filter(pk=run_id, status="queued", last_seq=3).exists()
        ):
            await asyncio.sleep(0.02)


async def test_a_journal_that_contradicts_itself_ends_in_one_sentence(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(agent)

    def corrupted() -> UUID:
        run_id = start_run(studio.workspace, "Do it.", agent="solo", home=Placement.LOCAL)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO agents_runevent (run_id, seq, type, payload)"
                " VALUES (%s, 2, 'tool.finished', %s)",
                [run_id, json.dumps({"call_id": "9.9", "status": "ok", "content": ""})],
            )
            cursor.execute("UPDATE agents_run SET last_seq = 2 WHERE id = %s", [run_id])
        return run_id

    run_id = await orm.run_in_thread(corrupted)
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.error is not None
    assert "contradicts itself" in run.error["message"]


async def test_a_failover_while_a_tool_writes_is_no_failure_of_the_run(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request", "current_time")))
    refused: list[str] = []

    async def failing(pool: Pool, query: str, parameters: Sequence[Any]) -> DictRow | None:
        if "tool.started" in str(parameters) and not refused:
            refused.append(query)
            raise psycopg.errors.ReadOnlySqlTransaction("cannot write during a failover")
        return await call(pool, query, parameters)

    monkeypatch.setattr(lease, "call", failing)
    run = await studio.run(
        '[[calls: http_request {"method": "POST", "url": "http://127.0.0.1:9/"}, current_time {}]]'
        " [[text: Done.]]"
    )
    assert refused
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")


async def test_a_suspension_whose_answer_was_lost_goes_on(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[DictRow | None] = []

    async def losing(pool: Pool, query: str, parameters: Sequence[Any]) -> DictRow | None:
        row = await call(pool, query, parameters)
        if "heartbit_suspend" in query and not lost:
            lost.append(row)
            raise psycopg.OperationalError("the server went away after the commit")
        return row

    monkeypatch.setattr(lease, "call", losing)
    run = await studio.run(
        '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Done.]]',
        agent="orchestrator",
    )
    assert lost
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")


async def test_an_end_whose_answer_was_lost_leaves_the_run_it_claimed_to_nobody(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[DictRow | None] = []

    async def losing(pool: Pool, query: str, parameters: Sequence[Any]) -> DictRow | None:
        row = await call(pool, query, parameters)
        if "heartbit_finish_and_claim" in query and not lost:
            lost.append(row)
            raise psycopg.OperationalError("the server went away after the commit")
        return row

    monkeypatch.setattr(lease, "call", losing)
    run = await studio.run(
        '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Done.]]',
        agent="orchestrator",
    )
    assert lost[0] is not None
    assert lost[0]["claimed"]["run_id"] == str(run.pk)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")


async def test_a_stray_notice_leaves_the_ear_open(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(agent)

    def notify() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify('heartbit', 'cancel:nonsense')")

    await orm.run_in_thread(notify)
    run_id = await studio.start("[[hang: headers]]")
    while not await orm.run_in_thread(
        lambda: Run.objects.filter(pk=run_id, status="running").exists()
    ):
        await asyncio.sleep(0.02)
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough"))
    async with asyncio.timeout(2):
        assert (await wait_for_end(run_id, studio.host.window)).status == RunStatus.CANCELLED


async def test_more_calls_than_one_turn_serves_are_answered(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("current_time",)))
    calls = ", ".join(["current_time {}"] * 70)
    run = await studio.run(f"[[calls: {calls}]] [[text: Done.]]")
    assert run.output == "Done."
    statuses = await orm.run_in_thread(lambda: list(run.calls.values_list("status", flat=True)))
    assert (statuses.count("ok"), statuses.count("refused")) == (64, 6)


async def test_sub_agents_beyond_the_limit_are_refused_call_by_call(studio: Studio) -> None:
    one = {"agent": "writer", "task": "[[text: Prose.]]"}
    tasks = json.dumps({"tasks": [one] * 6})
    run = await studio.run(
        f"[[calls: delegate_task {tasks}, delegate_task {tasks}]] [[text: Done.]]",
        agent="orchestrator",
    )
    assert run.output == "Done."
    assert await orm.run_in_thread(lambda: run.children.count()) == 6
    statuses = await orm.run_in_thread(lambda: list(run.calls.values_list("status", flat=True)))
    assert statuses == ["ok", "refused"]
