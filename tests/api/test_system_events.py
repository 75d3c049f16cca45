"""A workspace's system events: each once, selected by patterns, for those who may read runs."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone
from httpx_sse import EventSource, ServerSentEvent
from websockets.sync.client import connect

from agents.models import Agent, Delivery
from agents.system_events.reader import Position, Wanted, now, read_events
from agents.system_events.types import EVENTS, check_pattern, matching
from heartbit_site.base.access import Access
from heartbit_site.base.models import ApiKey
from scheduling.choices import FiringStatus
from scheduling.models import Firing, Schedule
from tests.api.server import key_for
from tests.cli.test_run import TEAM
from tests.conftest import new_workspace
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller, WebServer
    from tests.fleet import Worker


def stream(caller: Caller, last: str = "", **query: Any) -> Iterator[ServerSentEvent]:
    headers = {"Last-Event-ID": last} if last else {}
    with caller.http.stream("GET", "/events", params=query, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield from EventSource(response).iter_sse()


def recorded(caller: Caller, last: str = "", **query: Any) -> list[dict[str, Any]]:
    return [json.loads(one.data) for one in stream(caller, last, follow=False, **query) if one.data]


def reader_of(workspace: Workspace) -> Access:
    return Access(workspace, "ada", "web", frozenset({"runs:read"}), None)


def parked(workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")


def test_given_a_run_then_its_life_is_told_in_order(caller: Caller, worker: Worker) -> None:
    place = str(now())
    run_id = caller.submit("x [[text: y]]", agent="writer")["id"]
    caller.ended(run_id)
    found = recorded(caller, place)
    assert [one["type"] for one in found] == ["run.queued", "run.started", "run.succeeded"]
    assert {one["subject"] for one in found} == {f"run:{run_id}"}
    assert found[0]["data"]["agent"] == "writer"
    assert "[[text" not in json.dumps(found), "no text of a run is in it"
    for number, one in enumerate(found):
        assert recorded(caller, one["id"]) == found[number + 1 :], "a resumed reader gets the rest"
    assert recorded(caller, place, type="run.s*") == found[1:]
    assert recorded(caller, place, agent="writer") == found
    assert recorded(caller, place, agent="analyst") == []


def test_given_sub_agents_and_a_fork_then_runs_are_told_of_once(
    caller: Caller, worker: Worker
) -> None:
    place = str(now())
    run_id = caller.submit(TEAM)["id"]
    caller.ended(run_id)
    first = recorded(caller, place, type="run.*")
    assert {one["subject"] for one in first} == {f"run:{run_id}"}
    assert [one["type"] for one in first] == [
        *("run.queued", "run.started", "run.waiting", "run.started", "run.succeeded")
    ]
    assert first[2]["data"]["waits_for"] == "child"
    fork = caller.post(f"/runs/{run_id}/fork", {"turn": 1}).json()["id"]
    caller.ended(fork)
    then = recorded(caller, first[-1]["id"], type="run.*")
    assert {one["subject"] for one in then} == {f"run:{fork}"}
    assert then[0]["type"] == "run.queued"
    assert [one["type"] for one in then].count("run.succeeded") == 1


def test_given_a_follower_then_events_come_as_they_happen(
    caller: Caller, workspace: Workspace
) -> None:
    parked(workspace)
    came = stream(caller, type="run.queued")
    first = next(came)
    assert (first.data, bool(first.id)) == ("", True), "its place comes at once"
    run = start_run(workspace, "x", agent="writer")
    told = next(one for one in came if one.data)
    assert (told.event, json.loads(told.data)["data"]["run_id"]) == ("run.queued", str(run))
    came.close()  # type: ignore[attr-defined]
    assert recorded(caller, told.id) == []


def test_given_transactions_that_end_in_another_order_then_none_is_missed_or_doubled(
    workspace: Workspace,
) -> None:
    parked(workspace)
    place, wanted = now(), Wanted.of(["run.queued"])
    begun, over = threading.Event(), threading.Event()
    slow: list[Any] = []

    def hold() -> None:
        with transaction.atomic(), transaction.atomic():  # a savepoint has a number of its own
            slow.append(start_run(workspace, "slow", agent="writer"))
            begun.set()
            over.wait(20)
        connections.close_all()

    holder = threading.Thread(target=hold)
    holder.start()
    assert begun.wait(20)
    fast = start_run(workspace, "fast", agent="analyst")
    before = read_events(reader_of(workspace), place, wanted)
    over.set()
    holder.join()
    after = read_events(reader_of(workspace), before.place, wanted)
    found = [one.subject for one in (*before.events, *after.events)]
    assert found == [f"run:{slow[0]}", f"run:{fast}"]
    assert read_events(reader_of(workspace), after.place, wanted).events == []
    # The same for one who stopped at any of them.
    [first, second] = after.events
    assert read_events(reader_of(workspace), Position.parse(first.id), wanted).events == [second]


def test_given_many_events_then_they_come_in_pages(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parked(workspace)
    monkeypatch.setattr("agents.system_events.reader.MOST_EVENTS", 2)
    place, wanted = now(), Wanted.of(["run.queued"])
    runs = [start_run(workspace, "x", agent="writer") for _ in range(5)]
    found: list[str] = []
    has_more = True
    while has_more:
        page = read_events(reader_of(workspace), place, wanted)
        found += [one.subject for one in page.events]
        place, has_more = page.place, page.has_more
    assert found == [f"run:{run}" for run in runs]


def test_given_a_call_that_asks_then_question_and_decision_are_told(
    caller: Caller, worker: Worker
) -> None:
    place = str(now())
    task = 'Work. [[calls: calculate {"expression": "1+1"}]]'
    run_id = caller.submit(task, agent="analyst", require_approval=True)["id"]
    [call] = wait_until(lambda: caller.get("/approvals").json()["calls"], what="a call")
    caller.post(
        f"/runs/{run_id}/calls/{call['call_id']}/decision",
        {"digest": call["digest"], "verdict": "approve"},
    )
    caller.ended(run_id)
    asked, decided = recorded(caller, place, type="approval.*")
    assert (asked["type"], decided["type"]) == ("approval.requested", "approval.decided")
    assert asked["data"]["call"]["tool"] == "calculate"
    assert asked["data"]["call"]["run_id"] == run_id
    assert decided["data"]["call"]["decision"] == "approved"


def test_given_firings_and_deliveries_then_they_are_told_once(
    caller: Caller, workspace: Workspace
) -> None:
    parked(workspace)
    place = str(now())
    row = Schedule.objects.create(
        workspace=workspace,
        name="nightly",
        agent=Agent.objects.get(workspace=workspace, name="writer"),
        task="x",
        kind="interval",
        every_seconds=60,
        begins_at=timezone.now(),
    )
    Firing.objects.create(
        schedule=row, scheduled_for=row.begins_at, status=FiringStatus.SKIPPED, note="Busy."
    )
    sent = Delivery.objects.create(
        workspace=workspace,
        run_id=start_run(workspace, "x", agent="writer"),
        position=0,
        kind="email",
        target={},
    )
    assert [one["type"] for one in recorded(caller, place)] == ["schedule.skipped", "run.queued"]
    fired = str(now())
    assert caller.post("/schedules/nightly/run", {}).status_code in (200, 201)
    [one] = recorded(caller, fired, type="schedule.*")
    assert (one["type"], one["subject"]) == ("schedule.fired", "schedule:nightly")
    assert one["data"]["agent"] == "writer"
    Delivery.objects.filter(pk=sent.pk).update(status="failed", attempts=7, error="No.")
    found = recorded(caller, place, type=["schedule.*", "delivery.*"])
    assert [one["type"] for one in found] == [
        *("schedule.skipped", "schedule.fired", "delivery.failed")
    ]
    assert found[0]["data"]["reason"] == "Busy."
    assert (found[2]["data"]["attempts"], found[2]["data"]["error"]) == (7, "No.")
    assert recorded(caller, found[2]["id"]) == []


def test_given_another_workspace_then_nothing_of_it_is_told(
    caller: Caller, workspace: Workspace, web: WebServer
) -> None:
    parked(workspace)
    place = str(now())
    start_run(workspace, "x", agent="writer")
    other = type(caller)(web, key_for(new_workspace()))
    with other.http:
        assert recorded(other, place) == []
    assert len(recorded(caller, place)) == 1


@pytest.mark.parametrize(
    "query",
    [{"type": "runs.*"}, {"type": "nothing"}, {"after": "x"}, {"after": "1-2"}, {"typ": "run.*"}],
)
def test_given_a_wrong_request_then_it_is_refused_in_words(
    caller: Caller, query: dict[str, str]
) -> None:
    response = caller.get("/events", follow=False, **query)
    assert response.status_code == 422, response.text
    assert next(iter(query.values())) in response.text or "typ" in response.text


def test_given_a_revoked_key_then_a_socket_ends(workspace: Workspace, web: WebServer) -> None:
    parked(workspace)
    key = key_for(workspace)
    address = f"{web.url.replace('http', 'ws')}/ws/{workspace.slug}/events/"
    with connect(address, additional_headers={"Authorization": f"Bearer {key}"}) as socket:
        socket.send(json.dumps({"type": "subscribe", "events": ["run.*"], "after": str(now())}))
        assert json.loads(socket.recv(timeout=20))["type"] == "position"
        run = start_run(workspace, "x", agent="writer")
        told = json.loads(socket.recv(timeout=20))
        assert (told["type"], told["event"]["subject"]) == ("event", f"run:{run}")
        ApiKey.objects.filter(workspace=workspace).delete()
        with pytest.raises(Exception, match="4401"):
            socket.recv(timeout=20)


@pytest.mark.parametrize(
    "request_", [{"type": "subscribe", "events": ["nothing"]}, {"type": "x"}, {"events": 3}]
)
def test_given_a_malformed_request_then_a_socket_is_closed(
    workspace: Workspace, web: WebServer, request_: dict[str, Any]
) -> None:
    address = f"{web.url.replace('http', 'ws')}/ws/{workspace.slug}/events/"
    headers = {"Authorization": f"Bearer {key_for(workspace)}"}
    with connect(address, additional_headers=headers) as socket:
        socket.send(json.dumps(request_))
        with pytest.raises(Exception, match="4413"):
            socket.recv(timeout=20)


def test_patterns_select_types_of_the_one_list() -> None:
    assert matching(["approval.*", "run.failed"]) == [
        "run.failed",
        "approval.requested",
        "approval.escalated",
        "approval.decided",
    ]
    assert matching(["*"]) == matching(["r*", "**", "x"]) == list(EVENTS)
    assert matching(["*.*failed*"]) == ["run.failed", "schedule.failed", "delivery.failed"]
    assert matching(["q*.*ed", "run", "ran.*"]) == [
        *("question.asked", "question.answered", "quota.reached")
    ]
    assert check_pattern("run.*") == "run.*"
    with pytest.raises(ValueError, match="selects no event"):
        check_pattern("RUN.*")


def test_given_a_long_journal_then_the_index_by_time_is_used(workspace: Workspace) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute("EXPLAIN SELECT 1 FROM agents_runevent WHERE at >= now()")
        plan = str(cursor.fetchall())
        cursor.execute("RESET enable_seqscan")
    assert "event_age" in plan


def test_given_an_agent_that_is_stopped_and_started_then_it_is_told(caller: Caller) -> None:
    place = str(now())
    for verb in ("stop", "start", "restart"):
        assert caller.http.post(f"/agents/writer/{verb}").status_code == 200
    assert caller.http.patch("/agents/writer", json={"max_turns": 7}).status_code == 200
    found = recorded(caller, place, type="agent.*", agent="writer")
    assert [one["type"].removeprefix("agent.") for one in found] == [
        *("stopped", "started", "restarted", "changed")
    ]
    assert found[-1]["data"] == {"agent": "writer"}
