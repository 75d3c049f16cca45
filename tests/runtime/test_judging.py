"""Who declares a process dead: only one that has beaten on time itself.

What holds up everybody's heartbeats, as a disk that stands still, must not let the first who gets
through take the runs of all the others.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from django.conf import settings
from psycopg.rows import dict_row

from agents.choices import Placement
from agents.runtime.recovery.control_session import LOCK_CLASS, ControlSession
from agents.runtime.recovery.sweeper import SECOND_LOOK_SECONDS, Sweeper, SweeperConfig
from heartbit_site.base import orm
from heartbit_site.base.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from heartbit_site.base.models import Workspace

LEASE = 1.2
EVERY_SECONDS = 1.0

pytestmark = pytest.mark.usefixtures("django_db_setup")


@pytest.fixture
def session() -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A transaction that is never committed: the sweepers of others see none of its rows."""
    conninfo: Any = settings.DATABASE_DIRECT_URL
    with psycopg.connect(conninfo, row_factory=dict_row) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def process(session: psycopg.Connection[dict[str, Any]]) -> int:
    """A process that has just beaten, and holds no lock."""
    made = session.execute(
        "INSERT INTO agents_workerheartbeat (name, home, queues, slots, lease_seconds)"
        " VALUES ('process', 'fleet', '[]', 1, %s) RETURNING id",
        (LEASE,),
    ).fetchone()
    assert made is not None
    return int(made["id"])


def is_gone(session: psycopg.Connection[dict[str, Any]], process: int) -> bool:
    """Whether it was declared dead."""
    row = session.execute(
        "SELECT left_at IS NOT NULL AS gone FROM agents_workerheartbeat WHERE id = %s", (process,)
    ).fetchone()
    assert row is not None
    return bool(row["gone"])


def ring_nobody(run_id: UUID, queue: str) -> None:
    raise AssertionError(f"{run_id} was rung in {queue}")


def sweeper(*, steady: bool, ring: Callable[[UUID, str], None] | None = ring_nobody) -> Sweeper:
    def escalated(wait_id: int) -> None:
        raise AssertionError(f"wait {wait_id} was escalated")

    return Sweeper(
        SweeperConfig(
            conninfo=settings.DATABASE_DIRECT_URL,
            every_seconds=EVERY_SECONDS,
            max_attempts=3,
            queues=("nobody-serves-it",),
            own_worker_id=lambda: 0,
            heartbeat_is_stable=lambda: steady,
            free_slots=lambda: 0,
            wake=ring,
            home=Placement.FLEET,
            escalated=escalated,
        )
    )


@pytest.mark.parametrize("steady", [False, True])
def test_given_a_judge_that_was_late_itself_then_it_declares_nobody_dead(
    session: psycopg.Connection[dict[str, Any]], process: int, *, steady: bool
) -> None:
    judge = sweeper(steady=steady)
    session.execute(
        "UPDATE agents_workerheartbeat SET beat_at = beat_at - interval '1 minute' WHERE id = %s",
        (process,),
    )
    with psycopg.connect(settings.DATABASE_DIRECT_URL, autocommit=True) as living:
        living.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK_CLASS, process))
        for _ in range(3):
            judge.sweep(session)
    assert is_gone(session, process) is steady


def test_given_a_sweeper_that_cannot_ring_then_the_next_one_that_can_does(
    session: psycopg.Connection[dict[str, Any]], process: int, workspace: Workspace
) -> None:
    run = new_id()
    session.execute(
        "SELECT * FROM heartbit_submit(%s, %s, 'orchestrator', 'Do it.', 'fleet', 0, '', NULL, '',"
        " false, NULL)",
        (run, workspace.pk),
    )
    session.execute(
        "UPDATE agents_run SET status = 'running', worker_id = %s WHERE id = %s", (process, run)
    )
    session.execute(
        "UPDATE agents_workerheartbeat SET beat_at = beat_at - interval '1 minute' WHERE id = %s",
        (process,),
    )
    judge = sweeper(steady=True, ring=None)
    for _ in range(3):
        judge.sweep(session)
    row = session.execute(
        "SELECT status, woken_at FROM agents_run WHERE id = %s", (run,)
    ).fetchone()
    assert row == {"status": "queued", "woken_at": None}


async def test_given_heartbeats_held_up_when_they_go_on_then_it_judges_a_lease_later() -> None:
    async def nothing(*_: Any) -> None:
        return

    control = ControlSession(
        settings.DATABASE_DIRECT_URL,
        home=Placement.LOCAL,
        queues=(),
        slots=1,
        lease_seconds=LEASE,
        on_notice=lambda *_: None,
        on_lease_lost=lambda: None,
        on_beat=nothing,
    )
    await control.start()
    try:
        assert control.heartbeat_is_stable()
        async with await psycopg.AsyncConnection.connect(settings.DATABASE_DIRECT_URL) as held_up:
            await held_up.execute("LOCK TABLE agents_workerheartbeat IN SHARE MODE")
            await until(lambda: not control.heartbeat_is_stable())
        await orm.run_in_thread(lambda: None)
        assert not control.heartbeat_is_stable()
        await until(control.heartbeat_is_stable)
    finally:
        await control.stop()


def test_given_a_lock_that_became_free_then_the_sweep_that_decides_comes_soon(
    session: psycopg.Connection[dict[str, Any]], process: int
) -> None:
    judge = sweeper(steady=False)
    assert judge.pause_seconds() == EVERY_SECONDS
    judge.sweep(session)
    assert judge.pause_seconds() == SECOND_LOOK_SECONDS
    assert not is_gone(session, process)
    judge.sweep(session)
    assert is_gone(session, process)


def test_given_a_judge_that_was_cut_off_itself_then_free_locks_mean_nothing_for_a_while(
    session: psycopg.Connection[dict[str, Any]], process: int
) -> None:
    judge = sweeper(steady=False)
    judge.distrust_locks()
    judge.sweep(session)
    assert judge.pause_seconds() == EVERY_SECONDS
    assert not is_gone(session, process)


async def until(holds: Any) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.02)
