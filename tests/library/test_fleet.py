"""A program uses a fleet: the real web server, a worker, and no Django on the program's side."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from agents.actions.save_agent import create_agent
from agents.definitions.spec import AgentSpec
from agents.errors import AgentNotFoundError, CallClosedError, InvalidEditError, RunNotFoundError
from agents.models import Run
from agents.output.payload import PayloadError
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.first_start import default_workspace
from heartbit_site.library import Answer, Deny, Edit, Heartbit
from heartbit_site.remote.errors import RequestRefusedError, ServerError
from tests.api.server import key_for
from tests.fleet import wait_until

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from heartbit_site.library import Event, Fleet
    from heartbit_site.library.approvals import Approval
    from tests.api.server import WebServer
    from tests.fleet import Worker

TEAM = '[[delegate: {"agent": "writer", "task": "Write. [[text: Bees.]]"}]] [[text: Bees matter.]]'
ASKS = '[[calls: ask_human {"question": "Which city?"}]] [[text: Thanks.]]'


@pytest.fixture
def fleet(site: WebServer, worker: Worker) -> Fleet:
    return Heartbit.connect(site.url, key_for(default_workspace()))


def test_a_task_is_done_by_workers_and_its_result_is_one_of_the_library(fleet: Fleet) -> None:
    pieces: list[str] = []
    events: list[Event] = []
    heard = fleet.on_text(pieces.append).on_event(events.append)
    result = heard.run(TEAM, idempotency_key=uuid4().hex).expect()
    assert (result.text, "".join(pieces)) == ("Bees matter.", "Bees matter.")
    assert result.blackboard == {"agent:writer": "Bees."}
    assert {event.agent for event in result.events} == {"orchestrator", "writer"}
    assert {(event.run_id, event.seq) for event in events} == {
        (event.run_id, event.seq) for event in result.events
    }
    assert (result.outcome.status, result.outcome.metrics.model_calls) == ("success", 3)
    assert result.usage.input_tokens == result.outcome.metrics.input_tokens
    assert Run.objects.get(pk=result.run_id).home == "fleet"
    assert str(result.run_id) in [run.id for run in fleet.runs(limit=5)]


def test_a_run_is_followed_steered_and_cancelled(fleet: Fleet) -> None:
    run = fleet.submit("[[hang: stream]]", agent="writer", payload={"action": "plan", "spec": [1]})
    assert fleet.get(str(run.id)[:18]) == run
    types = []
    for event in run.events():
        types.append(event.type)
        if event.type == "run.started":
            run.steer("Hurry.")
            run.cancel()
    assert types[0] == "run.created"
    assert types[-1] == "run.cancelled"
    result = run.result()
    assert (result.status, result.error) == ("cancelled", "The run was cancelled.")
    with pytest.raises(ConflictError):
        run.steer("Too late.")
    assert (Run.objects.get(pk=run.id).payload or {})["spec"] == [1]


def test_waiting_calls_are_decided_by_a_callback_or_later(
    site: WebServer, worker: Worker, workspace: Workspace
) -> None:
    fleet = Heartbit.connect(site.url, key_for(workspace))
    asker = {"name": "asker", "description": "", "system_prompt": "Ask.", "model": "openai:fake"}
    spec = AgentSpec.model_validate({**asker, "tools": [{"name": "ask_human"}]})
    create_agent(workspace, spec, by=SYSTEM)
    asked: list[Approval] = []

    def decide(approval: Approval) -> Answer:
        asked.append(approval)
        return Answer("Bonn")

    assert fleet.on_approval(decide).run(ASKS, agent="asker").text == "Thanks."
    assert asked[0].form is not None
    run = fleet.submit(ASKS, agent="asker")
    [one] = wait_until(lambda: fleet.approvals(run.id), what="the question")
    with pytest.raises(InvalidEditError):
        fleet.decide_call(one, Edit({"question": "No?"}))
    fleet.decide_call(one, Deny("I do not know."))
    with pytest.raises(ConflictError) as late:
        fleet.decide_call(one, Deny())
    assert isinstance(late.value, CallClosedError)
    assert run.result(timeout=60).succeeded


def test_what_a_fleet_refuses_is_the_error_of_a_run_in_the_process(
    fleet: Fleet, site: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AgentNotFoundError, match="no agent named"):
        fleet.submit("x", agent="nobody")
    with pytest.raises(RunNotFoundError):
        fleet.get(uuid4())
    with pytest.raises(PayloadError, match="needs the field 'spec'"):
        fleet.submit(payload={"action": "plan"})
    with pytest.raises(ConfigurationError, match="colour"):
        fleet.submit("x", colour="red")
    with pytest.raises(RequestRefusedError):
        fleet.runs(status="none")
    with pytest.raises(ServerError, match="HEARTBIT_API_KEY"):
        Heartbit.connect(site.url, "wrong").runs()
    with pytest.raises(ServerError, match="cannot be reached"):
        Heartbit.connect("http://127.0.0.1:9", "x").runs()
    monkeypatch.delenv("HEARTBIT_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="There is no key"):
        Heartbit.connect(site.url)


async def test_runs_of_a_loop_are_concurrent_and_a_cancelled_one_ends(fleet: Fleet) -> None:
    results = await asyncio.gather(*(fleet.arun(f"[[text: {n}.]]", agent="writer") for n in "ab"))
    assert [result.text for result in results] == ["a.", "b."]
    with pytest.raises(ConfigurationError, match=r"await ...arun"):
        fleet.run("x")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await fleet.arun("[[hang: stream]]", agent="writer")
    [last] = await asyncio.to_thread(fleet.runs, limit=1, agent="writer")
    ended = await (await asyncio.to_thread(fleet.get, last.id)).aresult()
    assert ended.status == "cancelled"


def test_a_program_needs_no_database(fleet: Fleet) -> None:
    program = """
import sys
from heartbit_site.library import Heartbit
print(Heartbit.connect(sys.argv[1]).run("[[text: Far.]]", agent="writer").text)
from django.apps import apps
assert not apps.ready, "Django was set up"
"""
    nowhere = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    done = subprocess.run(
        [sys.executable, "-c", program, fleet.server.url],
        env={**os.environ, **nowhere, "HEARTBIT_API_KEY": fleet.server.key},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("Far.\n", 0), done.stderr
