"""With HEARTBIT_LOG_FORMAT=json each process logs one JSON object a line, with run and trace."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run
from heartbit_site.base import log_context
from heartbit_site.base.log_output import JsonFormatter
from tests.api.server import WebServer
from tests.fleet import Worker, wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

QUEUE = "q-json-logs"
JSON = {"HEARTBIT_LOG_FORMAT": "json"}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_given_hostile_text_then_the_line_is_one_object_in_ascii() -> None:
    record = logging.LogRecord(
        "a.b", logging.ERROR, "x.py", 1, "says %s", ("\x1b]0;\n\u202e",), None
    )
    line = JsonFormatter("%(message)s").format(record)
    assert line.isascii()
    assert line.isprintable()
    found = json.loads(line)
    assert (found["level"], found["logger"]) == ("error", "a.b")
    assert found["message"] == "says \x1b]0;\n\u202e"
    assert found.keys() == {"time", "level", "logger", "message"}


def test_given_a_task_of_a_run_then_its_lines_name_run_and_trace() -> None:
    run = uuid4()
    tokens = log_context.RUN.set(run), log_context.TRACEPARENT.set(f"00-{run.hex}-{'1' * 16}-01")
    try:
        raise ValueError("broken")
    except ValueError:
        record = logging.getLogger("x").makeRecord(
            "x", 20, "x.py", 1, "m", (), exc_info=sys.exc_info()
        )
    found = json.loads(JsonFormatter("").format(record))
    log_context.RUN.reset(tokens[0])
    log_context.TRACEPARENT.reset(tokens[1])
    assert (UUID(found["run_id"]), found["trace_id"]) == (run, run.hex)
    assert found["exception"].endswith("ValueError: broken")


def test_given_json_then_worker_and_web_write_nothing_else(
    workspace: Workspace, wire_server: WireServer
) -> None:
    # Its fallback has no key, and the log says that it is left out.
    agent = Agent.objects.create(
        workspace=workspace,
        name="json",
        system_prompt="x",
        queue=QUEUE,
        fallback_models=["mistral:keyless"],
    )
    publish_agent(agent)
    with Worker(queues=QUEUE, environment=JSON) as worker:
        run = start_run(workspace, "Say hello.", agent="json", model="openai:fake")
        wait_until(lambda: Run.objects.get(pk=run).status == "succeeded", what="the end")
        told = [line for line in lines(worker.log) if line.get("run_id") == str(run)]
        assert told, "what is logged for a run names it"
        assert {line["trace_id"] for line in told} == {run.hex}
    with WebServer(HEARTBIT_LOG_FORMAT="json") as web:
        assert any("running on" in line["message"] for line in lines(web.log))
