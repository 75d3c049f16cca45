"""The durable path from the command line: submit, status, result, cancel, serve."""

from __future__ import annotations

import secrets
import shlex
import signal
import time
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import httpx
import pytest

from agents.models import Agent, Run
from agents.reads.fleet import read_fleet
from heartbit_site.first_start import default_workspace
from tests.api.server import key_for
from tests.cli.test_run import FIELDS, TEAM, delegate
from tests.fleet import Worker, wait_until
from tests.pace import in_time

if TYPE_CHECKING:
    from tests.api.server import WebServer
    from tests.command import Command


def test_submit_prints_the_id_and_result_waits_for_the_answer(
    heartbit: Command, worker: Worker
) -> None:
    submitted = heartbit("submit", TEAM)
    assert (submitted.code, submitted.err) == (0, "")
    run_id = str(UUID(submitted.out.strip()))
    waited = heartbit("result", run_id, "--wait")
    assert (waited.code, waited.out) == (0, "All done.\n")
    shown = heartbit("status", run_id[:13])
    assert shown.code == 0
    assert "All done." in shown.out
    assert "calculate" in shown.out
    assert "\x1b" not in shown.out
    listed = heartbit("status", "--json", "--last", "5").json["runs"]
    assert run_id in [run["id"] for run in listed]


def test_watch_shows_the_run_and_exits_as_run_does(heartbit: Command, worker: Worker) -> None:
    ended = heartbit("submit", TEAM, "--watch")
    assert (ended.code, ended.out) == (0, "All done.\n")
    assert "writer        succeeded" in ended.err
    failed = heartbit("submit", "x [[error: 401]]", "--agent", "writer", "--watch")
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.splitlines()[-1].startswith("heartbit: openai:")


def test_watch_json_is_a_line_for_each_fact_and_the_run_at_last(
    heartbit: Command, worker: Worker
) -> None:
    key = f"cli-{uuid4()}"
    # It takes long enough to be still at work when the command begins to watch.
    slow = "[[latency: 700]] [[stream: 700]] [[chunks: 7]] [[text: It is written, word by word.]]"
    team = delegate(("analyst", "Facts. [[text: It is 42.]]"), ("writer", f"Write. {slow}"))
    ended = heartbit("submit", team, "--watch", "--json", "--idempotency-key", key)
    assert ended.code == 0, ended.err
    assert ended.err == ""
    lines = ended.lines
    assert {line["type"] for line in lines} == {"run", "event", "delta", "result"}
    assert set(lines[-1]) == FIELDS | {"type", "result"}
    assert lines[-1]["status"] == "succeeded"
    events = [line for line in lines if line["type"] == "event"]
    for run in {line["run_id"] for line in events}:
        seqs = [line["seq"] for line in events if line["run_id"] == run]
        assert seqs == list(range(1, len(seqs) + 1))
    again = heartbit("submit", team, "--json", "--idempotency-key", key).json
    assert again["id"] == lines[-1]["id"]


def test_a_queue_without_a_worker_is_said_and_the_run_can_be_cancelled(heartbit: Command) -> None:
    workspace = default_workspace()
    Agent.objects.filter(workspace=workspace, name="analyst").update(queue="empty")
    try:
        submitted = heartbit("submit", "wait", "--agent", "analyst")
    finally:
        Agent.objects.filter(workspace=workspace, name="analyst").update(queue="agents")
    assert submitted.code == 0
    assert "No worker serves the queue empty" in submitted.err
    run_id = submitted.out.strip()
    early = heartbit("result", run_id)
    assert early.code == 1
    assert "has not ended (queued)" in early.err
    assert heartbit("cancel", run_id).out == f"Run {run_id} was cancelled.\n"
    assert heartbit("result", run_id, "--json").code == 130
    assert heartbit("cancel", run_id).code == 2, "as `heartbit resume`"


def test_the_command_that_is_said_for_a_queue_without_a_worker_lets_the_run_go_on(
    heartbit: Command, site: WebServer
) -> None:
    workspace, queue = default_workspace(), f"own-{secrets.token_hex(4)}"
    Agent.objects.filter(workspace=workspace, name="analyst").update(queue=queue)
    try:
        submitted = heartbit("submit", "wait [[text: Served.]]", "--agent", "analyst")
    finally:
        Agent.objects.filter(workspace=workspace, name="analyst").update(queue="agents")
    run = Run.objects.get(pk=submitted.out.strip())
    headers = {"Authorization": f"Bearer {key_for(workspace)}"}
    asked = httpx.get(f"{site.url}/api/v1/runs/{run.pk}", headers=headers).json()
    [problem] = [line for line in read_fleet().problems if queue in line]
    said = {text.split("`")[1] for text in (submitted.err, asked["blocked_reason"], problem)}
    assert len(said) == 1, said
    process = heartbit.start(*shlex.split(said.pop())[1:])
    try:
        found = Run.objects.filter(pk=run.pk, status="succeeded")
        assert wait_until(found.exists, seconds=60, what="the run goes on")
    finally:
        process.send_signal(signal.SIGTERM)
        heartbit.end(process)


def test_a_task_that_is_submitted_while_valkey_is_down_says_what_happens_next(
    heartbit: Command,
) -> None:
    ended = heartbit("submit", "wait", env={"REDIS_URL": "redis://127.0.0.1:9/0"})
    run = Run.objects.get(pk=ended.out.strip())
    assert (ended.code, run.status) == (0, "queued")
    assert "Valkey cannot be reached, so the run is stored and waits: a worker starts" in ended.err
    assert heartbit("cancel", str(run.pk)).code == 0


def test_the_beginning_of_an_id_that_is_too_short_is_said_to_be(heartbit: Command) -> None:
    ended = heartbit("status", "01a2")
    assert (ended.code, ended.out) == (2, "")
    assert "01a2 is too short for the beginning of a run's id: give at least 8 chara" in ended.err
    assert (
        "no run begins with 01a200000: `heartbit status` li" in heartbit("status", "01a200000").err
    )


def test_ctrl_c_leaves_a_watched_run_alone(heartbit: Command, worker: Worker) -> None:
    task = f"slow [[latency: 2500]] [[run: {uuid4()}]]"
    process = heartbit.start("submit", task, "--agent", "writer", "--watch")
    found = Run.objects.filter(task=task)
    wait_until(lambda: found.filter(status="running").exists(), what="the run works")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    ended = heartbit.end(process)
    assert ended.code == 130
    assert "goes on" in ended.err
    assert wait_until(lambda: found.get().finished_at, what="the run ends by itself")
    assert found.get().status == "succeeded"


@pytest.mark.paced
def test_sigterm_hands_runs_back_within_two_seconds(heartbit: Command) -> None:
    workspace = default_workspace()
    Agent.objects.filter(workspace=workspace, name="analyst").update(queue="own")
    try:
        with Worker(queues="own", concurrency=5) as leaving:
            run_id = heartbit("submit", "long [[latency: 60000]]", "--agent", "analyst").out.strip()
            wait_until(lambda: Run.objects.get(pk=run_id).status == "running", what="it works")
            began = time.monotonic()
            assert leaving.stop() == 0
            took = time.monotonic() - began
    finally:
        Agent.objects.filter(workspace=workspace, name="analyst").update(queue="agents")
    run = Run.objects.get(pk=run_id)
    assert (run.status, run.crashes) == ("queued", 0)
    assert heartbit("cancel", run_id).code == 0
    in_time(took, 2.5)
