"""A socket replays and follows: whatever happens to it, each event comes once and in order."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
import redis
from django.conf import settings
from websockets.asyncio.client import connect

from agents.live.valkey import stream_key
from agents.models import Run
from heartbit_site.base import orm
from tests.sizes import sized
from tests.starts import start_run
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker

SCRIPT = (
    '[[delegate: {"agent": "researcher", "task": "[[calls: current_time {}]] [[rounds: 4]]'
    ' [[text: Some **facts**.]] [[stream: 300]] [[chunks: 20]]"},'
    ' {"agent": "writer", "task": "[[text: Prose.]] [[stream: 900]] [[chunks: 30]]"}]]'
    " [[text: All <b>together</b> now.]] [[stream: 1200]] [[chunks: 60]]"
)
TREES = sized(1, full=334)  # of three runs each
AT_ONCE = 12
WATCHERS = sized(30, full=2)


class Reader:
    """A page: it keeps what it was sent, and says so when it opens its socket again."""

    def __init__(self, workspace: Workspace, run: UUID, cookie: str) -> None:
        self.path = f"/ws/{workspace.slug}/runs/{run}/"
        self.cookie = cookie
        self.lines: list[dict[str, Any]] = []
        self.sockets = 0

    @property
    def after(self) -> dict[str, int]:
        return {line["run_id"]: line["seq"] for line in self.lines if line["type"] == "event"}

    def seqs(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for line in self.lines:
            if line["type"] == "event":
                found.setdefault(line["run_id"], []).append(line["seq"])
        return found

    async def read(self, url: str, *, drops: random.Random | None = None, pause: float = 0) -> None:
        """Until the server says that all has ended; with ``drops`` cut off now and then."""
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={self.cookie}", "Origin": url}
        while True:
            address = url.replace("http", "ws") + self.path
            async with connect(address, additional_headers=headers) as opening:
                self.sockets += 1
                await opening.send(json.dumps({"type": "resume", "after": self.after}))
                async for frame in opening:
                    data = json.loads(frame)
                    if data["type"] == "end":
                        return
                    self.lines += data["lines"]
                    await asyncio.sleep(pause)
                    if drops is not None and (self.sockets == 1 or drops.random() < 0.2):
                        opening.transport.abort()
                        break


async def reader_of(workspace: Workspace, run: UUID) -> Reader:
    return Reader(workspace, run, await orm.run_in_thread(lambda: session_of(member(workspace))))


async def test_given_an_ended_run_when_resumed_from_any_event_then_the_rest_comes_once(
    site: WebServer, worker: Worker, workspace: Workspace
) -> None:
    run = await orm.run_in_thread(lambda: start_run(workspace, SCRIPT, agent="orchestrator"))
    whole = await reader_of(workspace, run)
    await whole.read(site.url)
    events = [line for line in whole.lines if line["type"] == "event"]
    assert {line["event"] for line in events} >= {"run.created", "model.answered", "run.succeeded"}
    for known in (0, 1, len(events) // 2, len(events) - 1):
        late = await reader_of(workspace, run)
        late.lines = events[:known]
        await late.read(site.url)
        assert late.seqs() == whole.seqs()
        assert not [line for line in late.lines if line["type"] == "delta"], "what is answered"


async def test_given_answers_of_models_then_lines_have_them_as_sanitised_html(
    site: WebServer, worker: Worker, workspace: Workspace
) -> None:
    task = "[[text: **Hi** <script>alert(1)</script> [x](javascript:alert(1))]]"
    run = await orm.run_in_thread(lambda: start_run(workspace, task, agent="writer"))
    reader = await reader_of(workspace, run)
    await reader.read(site.url)
    html = {line["event"]: line["html"] for line in reader.lines if "html" in line}
    assert set(html) == {"model.answered", "run.succeeded"}
    for one in html.values():
        assert "<strong>Hi</strong>" in one
        assert "<script" not in one
        assert "href=" not in one


@pytest.mark.timeout(sized(120, full=900))
async def test_given_sockets_dropped_at_random_and_a_flushed_valkey_then_nothing_is_lost_or_twice(
    site: WebServer,
    worker: Worker,
    workspace: Workspace,
    record_property: Callable[[str, object], None],
) -> None:
    """R17; the runs stream while all of it happens."""
    record_property("cases", TREES * 3)
    for first in range(0, TREES, AT_ONCE):
        async with asyncio.TaskGroup() as group:
            for tree in range(first, min(first + AT_ONCE, TREES)):
                group.create_task(cut_off_and_flushed(site, workspace, seed=tree * WATCHERS))


async def cut_off_and_flushed(site: WebServer, workspace: Workspace, *, seed: int) -> None:
    """One run and its sub-agents, watched by many whose sockets break."""
    run = await orm.run_in_thread(lambda: start_run(workspace, SCRIPT, agent="orchestrator"))
    readers = [await reader_of(workspace, run) for _ in range(WATCHERS)]

    valkey = redis.Redis.from_url(settings.REDIS_URL)

    def is_worth_it() -> bool:
        """A sub-agent's answer streams, or all is over."""
        children = Run.objects.filter(parent_id=run).values_list("pk", flat=True)
        streams = any(valkey.exists(stream_key(child)) for child in children)
        return streams or Run.objects.filter(pk=run, finished_at__isnull=False).exists()

    async def flush() -> None:
        # Not when some reader was sent a part of an answer: one that is late, or cut off, may get
        # whole answers only.
        while not await orm.run_in_thread(is_worth_it):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(valkey.flushall)

    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(flush())
        for number, reader in enumerate(readers):
            slow = 0.2 if number == 0 else 0
            drops = random.Random(seed + number)  # noqa: S311  the same at every run
            group.create_task(reader.read(site.url, drops=drops, pause=slow))

    def recorded() -> dict[str, list[int]]:
        rows = Run.objects.filter(root_id=run).values_list("pk", "last_seq")
        return {str(pk): list(range(1, last + 1)) for pk, last in rows}

    expected = await orm.run_in_thread(recorded)
    assert len(expected) == 3
    for reader in readers:
        assert reader.sockets > 1, "it was cut off"
        assert reader.seqs() == expected
