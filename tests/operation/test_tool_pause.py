"""A tool that is stopped: everywhere, in one workspace, while runs work with it."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import connection, transaction
from mcp_types import Tool

from agents.actions.fleet import pause_work, resume_work
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.errors import UnknownToolError
from agents.limits.pauses import (
    blocked_reason,
    find_pauses,
    of_tool,
    of_workspace,
    refuse_if_halted,
)
from agents.limits.pauses import queue as of_queue
from agents.models import Agent, Pause, Run, RunEvent, WorkerHeartbeat
from agents.reads.agent_status import status_of
from agents.reads.fleet import read_fleet
from agents.runs.claims import GENERATION
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry
from tests.admin import rows
from tests.fleet import Worker, wait_until
from tests.pace import in_time
from tools.actions.mcp_servers import set_mcp_server
from tools.actions.read_mcp_server import Reading
from tools.actions.refresh_mcp_server import store_reading
from tools.mcp.listing import Offer
from tools.models import McpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from heartbit_site.base.models import Workspace

    Submit = Callable[..., UUID]

BY = Actor("an operator", "terminal")
LOOP = "[[latency: 150]] [[calls: current_time {}]] [[rounds: 40]] [[text: Done.]]"


@pytest.fixture
def held(workspace: Workspace) -> Iterator[None]:
    """Nothing stays stopped."""
    yield
    for name in ("current_time", "calculate", "http_request"):
        resume_work(of_tool(name), by=BY)
        resume_work(of_tool(name, workspace), by=BY)


def claimed_by_another_nudge(queue: str) -> UUID:
    """Which run of a queue a worker gets whose nudge names one that is gone; it is given back."""
    with transaction.atomic():
        worker = WorkerHeartbeat.objects.create(
            name="x:1", home="fleet", queues=[queue], slots=5, lease_seconds=3600
        )
        found = rows.sql(
            "SELECT * FROM heartbit_claim(%s, 'fleet', %s, %s, 'x:1', 'task', %s, '', %s)",
            *(uuid4(), [queue], worker.pk, rows.MODEL, GENERATION),
        )
        transaction.set_rollback(True)
    run: UUID = found["run_id"]
    return run


def answers(run: UUID) -> list[dict[str, str]]:
    found = RunEvent.objects.filter(run=run, type="tool.finished").order_by("seq")
    return list(found.values_list("payload", flat=True))


@pytest.mark.paced
def test_given_a_run_that_loops_over_a_tool_when_it_is_stopped_then_no_call_runs_after_2_s(
    worker: Worker, workspace: Workspace, solo: Agent, submit: Submit, held: None
) -> None:
    Agent.objects.filter(pk=solo.pk).update(max_turns=60)
    publish_agent(Agent.objects.get(pk=solo.pk))
    run = submit(LOOP)
    wait_until(lambda: len(answers(run)) > 1, what="it loops")
    began = time.monotonic()
    assert pause_work(of_tool("current_time", workspace), by=BY, reason="a drill")
    refused = RunEvent.objects.filter(run=run, type="tool.finished", payload__status="refused")
    wait_until(refused.exists, what="refused")
    took = time.monotonic() - began

    told = refused.order_by("seq")[0]
    assert told.payload["content"].startswith(
        "The tool current_time was stopped by an operator (a drill): go on without it"
    )
    later = [event["status"] for event in answers(run)]
    assert "ok" not in later[later.index("refused") :], later
    assert resume_work(of_tool("current_time", workspace), by=BY)
    wait_until(lambda: answers(run)[-1]["status"] == "ok", seconds=5, what="called again")
    assert not RunEvent.objects.filter(run=run, type="run.requeued").exists(), "it stayed at work"
    cancel_run(workspace, run, reason="the test is over")
    target = AuditEntry.objects.filter(workspace=workspace, target="tool:current_time")
    assert list(target.order_by("id").values_list("action", "label")) == [
        ("tool.stop", "current_time"),
        ("tool.start", "current_time"),
    ]
    in_time(took, 2)


def test_given_a_tool_stopped_in_a_workspace_then_nothing_else_is_held_back(
    workspace: Workspace, solo: Agent, submit: Submit, held: None
) -> None:
    queue = f"q{secrets.token_hex(4)}"
    Agent.objects.filter(pk=solo.pk).update(queue=queue)
    assert pause_work(of_tool("calculate", workspace), by=BY, reason="a leak")
    assert not pause_work(of_tool("calculate", workspace), by=BY), "it is stopped already"
    assert pause_work(of_tool("http_request"), by=BY)
    refuse_if_halted(workspace)
    run = submit("x")
    assert blocked_reason(Run.objects.get(pk=run)).startswith("No worker serves the queue")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT heartbit_is_stopped(r), heartbit_halts(r.workspace_id, heartbit_halted())"
            " FROM agents_run r WHERE r.id = %s",
            [run],
        )
        assert cursor.fetchone() == (False, False)
        assert claimed_by_another_nudge(queue) == run
    cancel_run(workspace, run, reason="the test is over")
    [pause] = [one for one in read_fleet().pauses if one.workspace == workspace.slug]
    assert (pause.kind, pause.name, pause.reason) == ("tool", "calculate", "a leak")
    said = f"The tool calculate was stopped in {workspace.slug} by an operator (a leak)"
    assert any(line.startswith(said) for line in read_fleet().problems)
    tools = status_of(workspace, "solo").tools
    assert tools.stopped == []
    pause_work(of_tool("current_time", workspace), by=BY)
    assert status_of(workspace, "solo").tools.stopped == ["current_time"]


def test_given_several_stops_when_one_ends_then_the_others_stay(
    workspace: Workspace, held: None
) -> None:
    queues = [of_queue(f"q{secrets.token_hex(4)}") for _ in range(2)]
    tools = [of_tool("calculate", workspace), of_tool("calculate")]
    stops = [of_workspace(workspace), *tools, *queues]
    for stop in stops:
        assert pause_work(stop, by=BY), stop.label
    while stops:
        ended = stops.pop(0)
        assert resume_work(ended, by=BY), ended.label
        assert not resume_work(ended, by=BY), "it has ended already"
        assert all(find_pauses(other).exists() for other in stops), ended.label
    audit = AuditEntry.objects.filter(workspace=workspace, action="workspace.stop")
    assert audit.get().label == workspace.name


def test_given_a_tool_stopped_everywhere_and_here_then_runs_start(
    worker: Worker, workspace: Workspace, solo: Agent, submit: Submit, held: None
) -> None:
    pause_work(of_tool("http_request"), by=BY)
    pause_work(of_tool("http_request", workspace), by=BY)
    run = submit("[[text: Done.]]")
    wait_until(lambda: Run.objects.get(pk=run).status == "succeeded", what="it runs")


def test_given_a_misspelt_tool_then_the_stop_is_refused_with_what_is_like_it() -> None:
    with pytest.raises(UnknownToolError, match="did you mean current_time"):
        of_tool("curent_time")


def test_given_a_tool_of_one_workspace_then_it_is_stopped_there_alone_and_the_refusal_says_so(
    workspace: Workspace,
) -> None:
    server = McpServer(workspace=workspace, name="parts")
    set_mcp_server(server, {"url": "https://mcp.example.com/mcp"}, by=BY)
    tool = Tool(name="order", description="Order.", input_schema={"type": "object"})
    store_reading(server, Reading(Offer({"order": tool}, {}), {}), by=BY)
    with pytest.raises(UnknownToolError, match="single workspaces: name the workspace"):
        of_tool("parts_order")
    assert of_tool("parts_order", workspace).tool == "parts_order"


def test_given_a_stopped_tool_that_is_gone_then_its_stop_is_ended_only_where_it_is(
    workspace: Workspace, held: None
) -> None:
    Pause.objects.create(kind="tool", tool="calculate_v1", workspace=workspace, by="a", reason="b")
    with pytest.raises(UnknownToolError):
        of_tool("calculate_v1")
    assert resume_work(of_tool("calculate_v1", workspace), by=BY)
    with pytest.raises(UnknownToolError):
        of_tool("calculate_v1", workspace)
