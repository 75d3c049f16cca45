"""Failures that the demo reports: a worker that does not start, and a wrong journal."""

from __future__ import annotations

import os
import secrets
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import httpx
import pytest

from agents.actions.runs import cancel_run
from agents.llm.messages import ToolCall
from agents.models import Agent, WorkerHeartbeat
from heartbit_site.cli.terminal.errors import CANNOT_START, FAILED, CommandError
from heartbit_site.demo import __main__ as demo
from heartbit_site.demo import check as check_demo
from heartbit_site.demo.check import LONGEST_ANSWER, Answers, Work, overlap, tasks, tokens
from tests.admin.rows import MODEL, Held, answer
from tests.cli.trees import START
from tests.command import ROOT
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace


def test_a_sub_agent_on_a_slow_local_model_has_ten_minutes(workspace: Workspace) -> None:
    leader = Agent.objects.get(workspace=workspace, name="orchestrator")
    assert leader.delegation_timeout_seconds == 600


def work(began: float, ended: float, *names: str) -> Work:
    return Work(
        START + timedelta(seconds=began), START + timedelta(seconds=ended), frozenset(names)
    )


def test_three_that_overlap_pass() -> None:
    together = [work(0, 5, "a"), work(1, 6, "b"), work(2, 4, "c"), work(9, 10, "d")]
    assert overlap(together) == (True, "3 sub-agents worked at the same time for 2.0 s")


def test_one_after_the_other_does_not_pass() -> None:
    chain = [work(0, 5, "a"), work(5, 6, "b"), work(5.5, 7, "c")]
    assert overlap(chain) == (False, "of 3 sub-agents, no 3 worked at the same time")
    assert overlap([])[0] is False


def test_each_needs_celery_tasks_of_its_own() -> None:
    assert tasks([work(0, 1, "a"), work(0, 1, "b"), work(0, 1, "c", "d")])[0] is True
    assert tasks([work(0, 1, "a"), work(0, 1, "b"), work(0, 1, "b")])[0] is False
    assert tasks([work(0, 1, "a"), work(0, 1, "b")])[0] is False


def test_the_journal_and_the_server_count_the_same_tokens() -> None:
    assert tokens(Answers(300, 0, 300))[0] is True
    assert tokens(Answers(300, 0, 301))[0] is False
    assert tokens(Answers(300, 0, 299))[0] is False
    assert tokens(Answers(0, 0, 0))[0] is False


def test_cancelled_answers_are_counted_by_the_server_alone() -> None:
    assert tokens(Answers(300, 2, 300))[0] is True
    assert tokens(Answers(300, 2, 301 + LONGEST_ANSWER))[0] is True
    assert tokens(Answers(300, 2, 299))[0] is False
    assert tokens(Answers(300, 2, 301 + 2 * LONGEST_ANSWER))[0] is False


@pytest.mark.django_db
def test_a_sub_agent_cancelled_before_it_began_ends_the_demo_with_a_verdict(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = start_run(workspace, "Why?", model=MODEL, idempotency_key="demo")
    held = Held(root)
    held.record(answer(1, "", ToolCall("x", "delegate_task", '{"tasks": []}')))
    held.delegate("1.0", "researcher", "Look it up.")
    cancel_run(workspace, root, reason="Enough.")
    monkeypatch.setattr(check_demo, "default_workspace", lambda: workspace)
    monkeypatch.setattr(check_demo, "tokens_counted", lambda: 20)
    assert check_demo.verdict("demo", 0) == FAILED
    assert "BAD of 0 sub-agents" in capsys.readouterr().err


def test_a_model_server_that_is_too_slow_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def get(url: str, **_: object) -> httpx.Response:
        raise httpx.ReadTimeout("timed out", request=httpx.Request("GET", url))

    monkeypatch.setattr(httpx, "get", get)
    with pytest.raises(CommandError, match=r"does not tell its counters .* \(timed out\)"):
        check_demo.tokens_counted()


@pytest.mark.parametrize(
    ("log", "reported"), [("first\nThe port is taken.\n", "The port is taken."), ("", "nothing")]
)
@pytest.mark.usefixtures("database")
def test_a_worker_that_ends_at_once_is_reported_with_the_last_line_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, reported: str
) -> None:
    monkeypatch.chdir(tmp_path)
    program = f"import sys; sys.exit(sys.stderr.write({log!r}))"
    monkeypatch.setattr(demo, "HEARTBIT", (sys.executable, "-Sc", program))
    with pytest.raises(CommandError) as caught, demo._worker():
        pytest.fail("the worker has ended")
    assert reported in str(caught.value)
    assert "first" not in str(caught.value)


def test_an_environment_that_cannot_be_used_ends_the_demo_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEARTBIT_LEASE_SECONDS", "abc")
    with pytest.raises(SystemExit) as ended:
        demo.main()
    [line] = capsys.readouterr().err.splitlines()
    assert (ended.value.code, "HEARTBIT_LEASE_SECONDS" in line) == (CANNOT_START, True)


@pytest.mark.usefixtures("database")
def test_a_worker_that_neither_begins_nor_ends_is_reported_and_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print(os.getpid(), flush=True); time.sleep(60)"
    )
    monkeypatch.setattr(demo, "HEARTBIT", (sys.executable, "-Sc", program))
    monkeypatch.setattr(demo, "READY_SECONDS", 2.0)
    monkeypatch.setattr(demo, "END_SECONDS", 0.1)
    with pytest.raises(CommandError), demo._worker():
        pytest.fail("the worker has not begun")
    began = demo.LOG.read_text()  # empty on a machine so slow that the program met the signal first
    assert not began or not is_alive(int(began))


@pytest.mark.usefixtures("database", "wire_server")
def test_a_worker_serves_while_the_demo_runs_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    queue = f"q{secrets.token_hex(4)}"
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv += ['--queues', {queue!r}];"
        "from heartbit_site.cli.main import main; main()"
    )
    monkeypatch.setattr(demo, "HEARTBIT", (sys.executable, "-c", program))
    with demo._worker():
        [row] = [one for one in WorkerHeartbeat.objects.serving() if queue in one.queues]
        worker = int(row.name.rpartition(":")[2])
        assert is_alive(worker)
    assert not is_alive(worker)
    assert not WorkerHeartbeat.objects.serving().filter(name=row.name).exists()


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
