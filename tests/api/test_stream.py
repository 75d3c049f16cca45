"""Following a run: every event once, whatever happens to the connection."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from httpx_sse import EventSource, ServerSentEvent

from agents.actions.fleet import pause_work, resume_work
from agents.limits.pauses import queue
from agents.models import Agent, Run, RunEvent
from heartbit_site.api import stream
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.audit import SYSTEM
from memory.visibility import MANAGE
from tests.cli.test_run import TEAM
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from agents.limits.pauses import PauseTarget
    from agents.live.updates import Update
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.fleet import Worker


def events(
    caller: Caller, run_id: str, *, last: str = "", **query: Any
) -> Iterator[ServerSentEvent]:
    """What a browser's EventSource would be given."""
    headers = {"Last-Event-ID": last} if last else {}
    with caller.http.stream(
        "GET", f"/runs/{run_id}/events", params=query, headers=headers
    ) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield from EventSource(response).iter_sse()


def journal(run_id: str) -> list[tuple[str, str]]:
    rows = RunEvent.objects.filter(run_id=run_id).order_by("seq")
    return [(str(row.seq), row.type) for row in rows]


def recorded(found: list[ServerSentEvent]) -> list[tuple[str, str]]:
    return [(event.id, event.event) for event in found if event.event not in ("delta", "end")]


@pytest.fixture
def paused() -> Iterator[PauseTarget]:
    """The workers' queue, from which nothing is claimed until a test resumes it."""
    held = queue("agents")
    pause_work(held, by=SYSTEM)
    yield held
    resume_work(held, by=SYSTEM)


def test_a_stream_has_the_text_the_journal_and_an_end(
    caller: Caller, worker: Worker, paused: PauseTarget
) -> None:
    run_id = caller.submit("Say. [[text: one two three]] [[stream: 400]]", agent="writer")["id"]
    found = []
    for event in events(caller, run_id):
        found.append(event)
        if event.event == "run.created":
            resume_work(paused, by=SYSTEM)  # whoever follows it only later may miss the text
    assert recorded(found) == journal(run_id)
    text = "".join(json.loads(event.data)["text"] for event in found if event.event == "delta")
    assert text == "one two three"
    assert found[-1].event == "end"


def test_a_dropped_connection_costs_no_event_and_doubles_none(
    caller: Caller, worker: Worker
) -> None:
    task = 'Work. [[calls: calculate {"expression": "1+1"}]] [[rounds: 4]] [[latency: 60]]'
    run_id = caller.submit(task, agent="analyst")["id"]
    seen: list[ServerSentEvent] = []
    last, drops = "", 0
    while not (seen and seen[-1].event == "end"):
        for number, event in enumerate(events(caller, run_id, last=last), start=1):
            seen.append(event)
            if event.event not in ("delta", "end"):
                last = event.id
            if number == 3 and event.event != "end":
                drops += 1
                break  # leaving closes the connection in the middle of the stream
    assert drops >= 3
    assert recorded(seen) == journal(run_id)


def test_a_reader_of_an_ended_run_gets_the_rest_at_once(caller: Caller, worker: Worker) -> None:
    run_id = caller.submit("x [[text: y]]", agent="writer")["id"]
    caller.ended(run_id)
    whole = journal(run_id)
    for after in (0, 2, len(whole), len(whole) + 7):
        found = list(events(caller, run_id, after=after))
        assert recorded(found) == whole[after:]
        assert found[-1].event == "end"
    assert recorded(list(events(caller, run_id, after=1, follow=False))) == whole[1:]


def test_a_tree_is_followed_with_its_sub_agents(caller: Caller, worker: Worker) -> None:
    run_id = caller.submit(TEAM)["id"]
    found = [event for event in events(caller, run_id, tree=True) if event.event != "delta"]
    data = [json.loads(event.data) for event in found]
    runs = {item["run_id"]: item["agent"] for item in data if item["type"] == "run"}
    assert sorted(runs.values()) == ["analyst", "orchestrator", "writer"]
    for run, agent in runs.items():
        seqs = [item["seq"] for item in data if item["type"] == "event" and item["run_id"] == run]
        assert seqs == list(range(1, len(journal(run)) + 1)), agent
    own = [event.id for event in found if event.id and json.loads(event.data)["run_id"] != run_id]
    assert set(own) <= {event.id for event in found if event.id}
    child = next(run for run in runs if run != run_id)
    alone = list(events(caller, child))
    assert recorded(alone) == journal(child)


@pytest.mark.parametrize("after", ["-1", "x", str(2**40)])
def test_a_wrong_place_is_refused(caller: Caller, after: str) -> None:
    run_id = caller.submit("x", agent="writer")["id"]
    assert caller.get(f"/runs/{run_id}/events", after=after).status_code == 422


async def test_a_silent_source_is_told_apart_from_an_ended_one() -> None:
    over = asyncio.Event()
    news: list[Update] = []

    async def silent() -> AsyncGenerator[Update, None]:
        await over.wait()
        for update in news:
            yield update

    silences = 0
    async for update in stream.with_silences(silent(), 0.01):
        assert update is None
        silences += 1
        if silences == 3:
            over.set()
    assert silences >= 3


async def test_a_stream_shows_life_and_ends_with_its_key(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parked() -> Run:
        Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
        return Run.objects.get(pk=start_run(workspace, "x", agent="writer"))

    monkeypatch.setattr(stream, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.0)
    run = await orm.run_in_thread(parked)
    asked = 0

    async def allowed() -> bool:
        nonlocal asked
        asked += 1
        return asked < 6

    selection = stream.Selection(run, after=0, whole_tree=False)
    access = Access(workspace, "x", "api", frozenset({MANAGE}), None)
    found = [chunk async for chunk in stream.events_of(run, access, selection, allowed)]
    # On a slow machine life is shown before the first event was read.
    [event] = [chunk for chunk in found if chunk != stream.BEAT]
    assert event.startswith(b"id: 1\nevent: run.created\n")
    assert stream.BEAT in found
    assert asked == 6, "and no end is said, for the run has not ended"
