"""Many who watch one tree in one process: one reading serves all, and nobody misses a thing."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from agents.choices import TERMINAL
from agents.live import watchers
from agents.live.updates import DeltaUpdate, EventUpdate, RunUpdate
from agents.live.valkey import connect
from agents.models import Run
from agents.querysets import events_after, tree
from heartbit_site.base import orm
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from uuid import UUID

    import pytest
    from redis.asyncio import Redis

    from agents.live.updates import Update
    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker

SCRIPT = (
    '[[delegate: {"agent": "writer", "task": "[[text: Prose.]] [[stream: 600]] [[chunks: 20]]"}]]'
    " [[text: All together now, at length.]] [[stream: 900]] [[chunks: 30]]"
)


async def started(workspace: Workspace) -> UUID:
    return await orm.run_in_thread(lambda: start_run(workspace, SCRIPT, agent="orchestrator"))


async def seen(
    root: UUID, *, pause: float = 0, after: Mapping[UUID, int] | None = None
) -> list[Update]:
    """Everything that a watcher is told."""
    updates: list[Update] = []
    async with contextlib.aclosing(watchers.watch(root, after=after)) as batches:
        async for batch in batches:
            assert await batch.text()
            updates += batch.updates
            await asyncio.sleep(pause)
    return updates


def seqs(updates: list[Update]) -> dict[UUID, list[int]]:
    found: dict[UUID, list[int]] = {}
    for update in updates:
        if isinstance(update, EventUpdate):
            found.setdefault(update.run_id, []).append(update.recorded.seq)
    return found


async def journal(root: UUID) -> dict[UUID, list[int]]:
    def read() -> dict[UUID, list[int]]:
        return {run.pk: [row.seq for row in events_after(run.pk, 0)] for run in tree(root)}

    return await orm.run_in_thread(read)


async def test_given_many_who_come_at_different_times_then_one_reads_and_all_see_all(
    worker: Worker, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def counted(url: str) -> Redis:
        opened.append(url)
        return connect(url)

    monkeypatch.setattr(watchers, "connect", counted)
    root = await started(workspace)

    async def later(seconds: float) -> list[Update]:
        await asyncio.sleep(seconds)
        return await seen(root)

    all_seen = await asyncio.gather(*(later(number * 0.05) for number in range(20)))
    whole = await journal(root)
    assert all(seqs(updates) == whole for updates in all_seen)
    assert len(opened) == 1
    assert watchers._readings[asyncio.get_running_loop()] == {}, "the last one ended it"


async def test_given_a_model_in_the_middle_of_its_answer_then_a_newcomer_has_its_beginning(
    worker: Worker, workspace: Workspace
) -> None:
    root = await started(workspace)
    first = asyncio.create_task(seen(root))
    async with contextlib.aclosing(watchers.watch(root)) as batches:
        text = ""
        async for batch in batches:
            for update in batch.updates:
                if isinstance(update, DeltaUpdate) and update.run_id == root:
                    text += update.delta.text
            if len(text) > 5:
                break
    newcomer = await seen(root)
    deltas = [one.delta for one in newcomer if isinstance(one, DeltaUpdate) and one.run_id == root]
    assert deltas[0].offset == 0
    assert "".join(delta.text for delta in deltas).startswith(text)
    await first


async def test_given_a_watcher_that_claims_what_it_cannot_have_then_it_harms_nobody(
    worker: Worker, workspace: Workspace
) -> None:
    root, foreign = await started(workspace), await started(workspace)
    liar = asyncio.create_task(seen(root, after={root: 10**9, foreign: 0}))
    readings = watchers._readings.setdefault(asyncio.get_running_loop(), {})
    while (root, None) not in readings:  # it is the first, so the reading begins with what it has
        await asyncio.sleep(0.01)
    updates = await seen(root)
    assert seqs(updates) == await journal(root)
    told = await liar
    own = set(await journal(root))
    assert {one.run_id for one in told if not isinstance(one, RunUpdate)} <= own
    assert seqs(told)[root][-1] == seqs(updates)[root][-1]


async def test_given_a_watcher_that_is_too_slow_then_it_still_sees_every_event_once(
    worker: Worker, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchers, "MAX_BEHIND", 1)
    places = []
    attend: Any = watchers._attend

    def counted(reader: Any) -> Any:
        places.append(reader)
        return attend(reader)

    monkeypatch.setattr(watchers, "_attend", counted)
    root = await started(workspace)
    updates = await seen(root, pause=0.1)
    assert seqs(updates) == await journal(root)
    assert len(places) > 1, "it was left behind and began again"


async def test_given_a_reading_that_fails_then_all_who_watch_are_told(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> AsyncIterator[Update]:
        await asyncio.sleep(0.1)
        nothing: tuple[Update, ...] = ()
        for update in nothing:
            yield update
        raise ConnectionError("the database has gone")

    root = await started(workspace)
    monkeypatch.setattr(watchers, "follow", broken)
    told = await asyncio.gather(seen(root), seen(root), return_exceptions=True)
    assert [type(one) for one in told] == [ConnectionError, ConnectionError]
    assert watchers._readings[asyncio.get_running_loop()] == {}


async def test_given_an_ended_run_then_its_journal_is_all_and_nothing_is_read_on(
    worker: Worker, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = await started(workspace)
    whole = await seen(root)
    monkeypatch.setattr(watchers, "_attend", None)
    assert (await orm.run_in_thread(lambda: Run.objects.get(pk=root))).status in TERMINAL
    assert seqs(await seen(root)) == seqs(whole)
    [last] = [seq[-1] for run, seq in seqs(whole).items() if run == root]
    assert seqs(await seen(root, after={root: last})).get(root) is None
