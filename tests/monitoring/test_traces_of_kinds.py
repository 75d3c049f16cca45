"""Traces of workflows, forks and calls of MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding
from heartbit_site.base.audit import Actor
from tests.api.server import Caller, WebServer, key_for
from tests.fleet import Worker
from tests.mcp.servers import http_server
from tests.monitoring.collector import Collector
from tests.monitoring.test_traces import SPAN, above, named, of_trace, run_span, submit
from tools.actions.mcp_servers import save_mcp_server
from tools.actions.refresh_mcp_server import refresh_mcp_server
from tools.models import McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

QUEUE = "q-traces-kinds"
ALLOWED = {"HEARTBIT_HTTP_ALLOWLIST": "127.0.0.1:*"}
STEPS = {
    "name": "digest",
    "queue": QUEUE,
    "steps": {
        "sum": {"tool": "calculate", "arguments": {"expression": "{{ input.n }} * 7"}},
        "fact": {"agent": "writer", "needs": "sum"},
    },
}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as found:
        yield found


@pytest.fixture(scope="module")
def site_of(database: None, wire_server: WireServer, collector: Collector) -> Iterator[WebServer]:
    environment = collector.environment | ALLOWED
    with Worker(queues=QUEUE, environment=environment), WebServer(**environment) as server:  # type: ignore[arg-type]
        yield server


@pytest.fixture
def caller(site_of: WebServer, workspace: Workspace) -> Iterator[Caller]:
    Agent.objects.filter(workspace=workspace).update(queue=QUEUE)
    found = Caller(site_of, key_for(workspace))
    with found.http:
        yield found


def test_nodes_of_a_workflow_are_below_its_run_and_children_below_them(
    caller: Caller, collector: Collector
) -> None:
    made = caller.post("/workflows", STEPS)
    assert made.status_code == 201, made.text
    trace = "56" * 16
    run = submit(caller, '{"n": 6}', agent="digest", traceparent=f"00-{trace}-{SPAN}-01")
    assert run_span(collector, run)["name"] == "invoke_workflow digest"
    spans = of_trace(collector, trace)
    for node in ("node sum", "node fact"):
        [span] = named(spans, node)
        assert above(spans, span) == ["invoke_workflow digest", "POST"]
    [child] = named(spans, "invoke_agent writer")
    assert above(spans, child)[:3] == ["wait for child", "node fact", "invoke_workflow digest"]


def test_a_fork_exports_its_own_events_alone_in_its_sources_trace(
    caller: Caller, collector: Collector
) -> None:
    trace = "78" * 16
    task = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
    run = submit(caller, task, agent="analyst", traceparent=f"00-{trace}-{SPAN}-01")
    run_span(collector, run)
    forked = caller.post(f"/runs/{run}/fork", {"turn": 1})
    assert forked.status_code in (200, 201), forked.text
    ended = run_span(collector, forked.json()["id"])
    assert ended["trace"] == trace
    spans = [one for one in collector.spans if one.get("heartbit.run.id") == forked.json()["id"]]
    assert len([one for one in spans if one["name"].startswith("chat ")]) == 1
    assert not named(spans, "execute_tool calculate"), "the source has exported it"


def test_a_call_of_an_mcp_server_has_the_sdks_span_below_it(
    caller: Caller, collector: Collector, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "HEARTBIT_HTTP_ALLOWLIST", "127.0.0.1:*")
    with http_server() as url:
        server = McpServer(workspace=workspace, name="shop", url=url)
        save_mcp_server(server, by=Actor("anne", via="admin"))
        refresh_mcp_server(server, by=Actor("anne", via="admin"))
        agent = Agent.objects.create(
            workspace=workspace, name="buyer", system_prompt="x", queue=QUEUE
        )
        ToolBinding.objects.create(agent=agent, tool="shop_add", approval="never")
        publish_agent(agent)
        trace = "9a" * 16
        task = '[[calls: shop_add {"a": 2, "b": 3}]] [[text: Done.]]'
        run = submit(caller, task, agent="buyer", traceparent=f"00-{trace}-{SPAN}-01")
        run_span(collector, run)
    spans = of_trace(collector, trace)
    [call] = [one for one in spans if "tools/call" in one["name"]]
    assert above(spans, call)[:2] == ["execute_tool shop_add", "invoke_agent buyer"]
