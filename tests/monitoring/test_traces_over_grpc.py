"""Spans of a run at a collector over gRPC, and the choice of the protocol."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents.models import Agent
from heartbit_site.base.tracing import uses_grpc
from tests.fleet import Worker
from tests.monitoring.grpc_collector import GrpcCollector
from tests.monitoring.test_traces import run_span
from tests.starts import start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

QUEUE = "q-traces-grpc"


def test_a_run_is_a_trace_over_grpc_too(workspace: Workspace, wire_server: WireServer) -> None:
    Agent.objects.filter(workspace=workspace).update(queue=QUEUE)
    with (
        GrpcCollector() as collector,
        Worker(queues=QUEUE, environment=collector.environment) as worker,
    ):
        run = str(start_run(workspace, "[[text: Hi.]]", agent="writer"))
        ended = run_span(collector, run)
        maps = Path(f"/proc/{worker.pid}/maps").read_text()
    assert ended["resource"]["service.name"] == "heartbit"
    assert Counter(one["name"].split()[0] for one in collector.spans) == {
        "process": 1,
        "slice": 1,
        "chat": 1,
        "invoke_agent": 1,
    }
    assert "grpc/_cython" in maps


@pytest.mark.parametrize(
    ("endpoint", "protocol", "expected"),
    [
        ("http://c:4317", "", True),
        ("http://c:4318", "", False),
        ("https://c.example", "", False),
        ("https://c.example", "grpc", True),
        ("http://c:4317", "http/protobuf", False),
    ],
)
def test_the_protocol_is_the_variables_or_the_ports(
    monkeypatch: pytest.MonkeyPatch, endpoint: str, protocol: str, *, expected: bool
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    assert uses_grpc() is expected
