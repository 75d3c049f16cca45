"""One trace of a run, through queue, suspension, kill and children, at a collector over HTTP."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from agents.actions.runs import cancel_run
from agents.models import Agent, Run
from tests.api.server import Caller, WebServer, key_for
from tests.fleet import Worker, wait_until
from tests.monitoring.collector import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

QUEUE = "q-traces"
SECRET = "a-word-that-no-span-may-hold"
TRACE, SPAN = "ab" * 16, "cd" * 8
SUM = f'[[calls: calculate {{"expression": "6*7"}}]] [[text: Done, {SECRET}.]]'
TEAM = f'[[delegate: {{"agent": "writer", "task": "[[text: {SECRET}]]"}}]] [[text: Led.]]'


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as found:
        yield found


@pytest.fixture(scope="module")
def traced(database: None, wire_server: WireServer, collector: Collector) -> Iterator[Worker]:
    with Worker(queues=QUEUE, environment=collector.environment) as worker:
        yield worker


@pytest.fixture(scope="module")
def traced_site(
    database: None, wire_server: WireServer, collector: Collector
) -> Iterator[WebServer]:
    with WebServer(**collector.environment) as server:  # type: ignore[arg-type]
        yield server


@pytest.fixture
def caller(traced_site: WebServer, workspace: Workspace) -> Iterator[Caller]:
    Agent.objects.filter(workspace=workspace).update(queue=QUEUE)
    found = Caller(traced_site, key_for(workspace))
    with found.http:
        yield found


def submit(caller: Caller, task: str, *, traceparent: str = "", **more: Any) -> str:
    headers = {"traceparent": traceparent} if traceparent else {}
    response = caller.post("/runs", {"task": task, **more}, **headers)
    assert response.status_code == 201, response.text
    found: str = response.json()["id"]
    return found


def approve(caller: Caller) -> None:
    [call] = wait_until(lambda: caller.get("/approvals").json()["calls"], what="it waits")
    body = {"digest": call["digest"], "verdict": "approve"}
    path = f"/runs/{call['run_id']}/calls/{call['call_id']}/decision"
    assert caller.post(path, body).status_code == 200


def run_span(collector: Collector, run: str) -> dict[str, Any]:
    """The span of an ended run, once it and the one above it are there."""

    def look() -> dict[str, Any] | None:
        found = [one for one in collector.spans if one.get("heartbit.run.id") == run]
        return next((one for one in found if "heartbit.run.status" in one), None)

    found: dict[str, Any] = wait_until(look, what=f"the span of run {run}")
    if found["parent"]:  # another process may export it later
        wait_until(
            lambda: any(one["id"] == found["parent"] for one in collector.spans),
            what=f"the span above run {run}",
        )
    return found


def of_trace(collector: Collector, trace: str) -> list[dict[str, Any]]:
    return [one for one in collector.spans if one["trace"] == trace]


def above(spans: list[dict[str, Any]], span: dict[str, Any]) -> list[str]:
    """The names of a span's ancestors, the nearest first."""
    by_id = {one["id"]: one for one in spans}
    names = []
    while span["parent"] in by_id:
        span = by_id[span["parent"]]
        names.append(span["name"])
    return names


def named(spans: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [one for one in spans if one["name"] == name]


def test_a_suspended_run_is_one_trace_with_each_span_once(
    caller: Caller, traced: Worker, collector: Collector
) -> None:
    given = f"00-{TRACE}-{SPAN}-01"
    run = submit(caller, SUM, traceparent=given, agent="analyst", require_approval=True)
    approve(caller)
    ended = run_span(collector, run)
    spans = of_trace(collector, TRACE)
    assert ended["trace"] == TRACE
    assert max(Counter(one["id"] for one in spans).values()) == 1, "nothing is exported twice"

    [request] = named(spans, "POST")
    assert request["parent"] == SPAN
    assert (request["url.path"], request["http.response.status_code"]) == ("/api/v1/runs", 201)
    assert above(spans, ended) == ["POST"]
    assert ended["name"] == "invoke_agent analyst"
    assert ended["heartbit.run.status"] == "succeeded"
    assert not ended["is_error"]

    [tool] = named(spans, "execute_tool calculate")
    assert above(spans, tool) == ["invoke_agent analyst", "POST"]
    [wait] = named(spans, "wait for approval")
    assert above(spans, wait) == ["execute_tool calculate", "invoke_agent analyst", "POST"]
    assert tool["start"] <= wait["start"] <= wait["end"] <= tool["end"]
    slices = named(spans, "slice")
    models = [one for one in spans if one["name"].startswith("chat ")]
    assert (len(slices), len(models), len(named(spans, f"process {QUEUE}"))) == (2, 2, 2)
    assert {one["parent"] for one in models} == {one["id"] for one in slices}
    for one in models:
        assert one["gen_ai.provider.name"] == "openai"
        assert one["gen_ai.usage.input_tokens"] > 0
        assert above(spans, one) == ["slice", "invoke_agent analyst", "POST"]
    for one in spans:
        assert one["start"] <= one["end"]
        assert one["resource"]["service.name"] == "heartbit"


def test_a_child_is_below_the_call_that_waits_for_it(
    caller: Caller, traced: Worker, collector: Collector
) -> None:
    run = submit(caller, TEAM, traceparent=f"00-{'12' * 16}-{SPAN}-01", agent="orchestrator")
    run_span(collector, run)
    spans = of_trace(collector, "12" * 16)
    [child] = named(spans, "invoke_agent writer")
    [tool] = [one for one in spans if one["name"].startswith("execute_tool ")]
    above_it = ["wait for child", tool["name"], "invoke_agent orchestrator", "POST"]
    assert above(spans, child) == above_it
    assert max(Counter(one["id"] for one in spans).values()) == 1


def test_a_killed_worker_costs_no_span_and_doubles_none(
    workspace: Workspace, caller: Caller, collector: Collector
) -> None:
    queue = "q-traces-killed"
    Agent.objects.filter(workspace=workspace).update(queue=queue)
    task = '[[calls: calculate {"expression": "6*7"}]] [[latency: 2000]] [[text: Done.]]'
    trace = "34" * 16
    with Worker(queues=queue, environment=collector.environment) as worker:
        run = submit(caller, task, traceparent=f"00-{trace}-{SPAN}-01", agent="analyst")
        wait_until(
            lambda: Run.objects.get(pk=run).events.filter(type="tool.finished").exists(),
            what="the call has ended",
        )
        worker.kill()
        worker.start()
        ended = run_span(collector, run)
    spans = of_trace(collector, trace)
    assert ended["heartbit.run.status"] == "succeeded"
    assert max(Counter(one["id"] for one in spans).values()) == 1
    assert len(named(spans, "execute_tool calculate")) == 1
    lost, last = sorted(named(spans, "slice"), key=lambda one: int(one["start"]))
    assert (lost["error.type"], last["is_error"]) == ("worker_lost", False)


def test_a_run_that_is_cancelled_while_it_waits_has_its_span(
    caller: Caller, traced: Worker, collector: Collector
) -> None:
    run = submit(caller, SUM, agent="analyst", require_approval=True)
    wait_until(lambda: Run.objects.get(pk=run).status == "waiting", what="it waits")
    assert caller.post(f"/runs/{run}/cancel").status_code < 300
    ended = run_span(collector, run)
    assert (ended["heartbit.run.status"], ended["is_error"]) == ("cancelled", True)
    spans = of_trace(collector, ended["trace"])
    assert max(Counter(one["id"] for one in spans).values()) == 1


def test_no_span_has_contents_or_secrets(
    caller: Caller, traced: Worker, collector: Collector
) -> None:
    run_span(collector, submit(caller, SUM, agent="analyst"))
    run_span(collector, submit(caller, TEAM, agent="orchestrator"))
    assert collector.bodies
    for body in collector.bodies:
        assert SECRET.encode() not in body
        assert caller.key.encode() not in body
        assert b"6*7" not in body


def test_a_foreign_header_that_is_no_traceparent_begins_a_trace(
    caller: Caller, traced: Worker, collector: Collector
) -> None:
    run = submit(caller, "[[text: Hi.]]", traceparent="00-zz-01; drop", agent="writer")
    spans = of_trace(collector, run_span(collector, run)["trace"])
    [request] = named(spans, "POST")
    assert request["parent"] == ""


def test_a_trace_that_the_sampler_leaves_out_is_not_exported_in_parts(
    workspace: Workspace, caller: Caller, collector: Collector
) -> None:
    queue = "q-traces-sampled"
    Agent.objects.filter(workspace=workspace).update(queue=queue)
    sampler = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}
    with Worker(queues=queue, environment=collector.environment | sampler) as worker:
        run = submit(caller, "[[text: Hi.]]", agent="writer")
        wait_until(lambda: Run.objects.get(pk=run).status == "succeeded", what="the end")
        assert worker.stop() == 0, "which sends what is left"
    assert not [one for one in collector.spans if one.get("heartbit.run.id") == run]


def test_without_an_endpoint_nothing_is_kept_and_the_sdk_is_not_loaded(
    site: WebServer, traced_site: WebServer, workspace: Workspace
) -> None:
    with httpx.Client(base_url=site.url) as client:
        headers = {"Authorization": f"Bearer {key_for(workspace)}"}
        headers["traceparent"] = f"00-{TRACE}-{SPAN}-01"
        body = {"task": "[[text: Hi.]]", "agent": "writer"}
        run = client.post("/api/v1/runs", json=body, headers=headers).json()["id"]
    httpx.post(f"{traced_site.url}/api/v1/runs", json=body, headers=headers)
    event = Run.objects.get(pk=run).events.get(seq=1)
    assert "traceparent" not in event.payload
    cancel_run(workspace, Run.objects.get(pk=run).pk, reason="over")
    assert "google/_upb" not in Path(f"/proc/{site.pid}/maps").read_text()
    loaded = Path(f"/proc/{traced_site.pid}/maps")
    wait_until(lambda: "google/_upb" in loaded.read_text(), what="the other one has the SDK")
