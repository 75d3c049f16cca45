"""`heartbit approve` at a server, on a machine that has nothing but an address and a key."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from agents.models import Decision, ToolCall
from heartbit_site.base.errors import HeartbitError
from heartbit_site.cli.approvals.decisions import CallChoice
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.following import pending_calls
from heartbit_site.cli.terminal import errors
from heartbit_site.first_start import default_workspace
from heartbit_site.remote.server import Server
from tests.api.server import WebServer, key_for
from tests.cli.terminal import EDITED, JSON_PROMPT, PROMPT, REASON_PROMPT, Terminal
from tests.cli.test_approve import ONE, TWO, ended, started

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Command
    from tests.fleet import Worker

NOWHERE = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
}


@pytest.fixture
def server(web: WebServer) -> Server:
    return Server(web.url, key_for(default_workspace()))


def test_calls_are_asked_about_and_decided_as_at_home(
    server: Server, worker: Worker, tmp_path: Path
) -> None:
    run = started(TWO, waits=2)
    with pytest.raises(HeartbitError, match="expression"):
        pending_calls.of_run(
            ServerBackend(server),
            str(run.pk),
            "1.0",
            CallChoice("edit", '{"expresion": "1"}'),
        )
    env = {"HEARTBIT_API_KEY": server.key, "HEARTBIT_STATE_DIR": str(tmp_path / "s"), **NOWHERE}
    with Terminal("approve", str(run.pk), "--url", server.url, env=env) as terminal:
        shown = terminal.sees(PROMPT)
        assert '"expression": "6*7"' in shown
        terminal.types("e")
        terminal.sees(JSON_PROMPT)
        terminal.types('{"expression": "2+3"}')
        terminal.sees(EDITED)
        terminal.sees(PROMPT)
        terminal.types("d")
        terminal.sees(REASON_PROMPT)
        terminal.types("too easy")
        assert terminal.ends() == (0, "")
    ended(run)
    results = dict(ToolCall.objects.filter(run=run).values_list("call_id", "result"))
    assert results["1.0"] == "5"
    assert "too easy" in str(results["1.1"])
    assert set(Decision.objects.filter(run=run).values_list("via", flat=True)) == {"api"}
    with pytest.raises(HeartbitError) as caught:
        pending_calls.of_run(ServerBackend(server), str(run.pk), None, CallChoice("approve"))
    assert errors.explain(caught.value) == (
        1,
        f"Nothing waits any more in run {run.pk}: its last call was already denied by API key "
        "test.",
    )


def test_a_run_that_is_watched_on_a_terminal_asks_there(
    server: Server, worker: Worker, tmp_path: Path
) -> None:
    task = f"{TWO} [[run: {uuid4()}]]"
    env = {"HEARTBIT_API_KEY": server.key, "HEARTBIT_STATE_DIR": str(tmp_path / "s"), **NOWHERE}
    words = ("submit", task, "--agent", "analyst", "--approve", "--watch", "--url", server.url)
    with Terminal(*words, env=env) as terminal:
        assert '"expression": "6*7"' in terminal.sees(PROMPT)
        terminal.types("a")
        terminal.sees("Approved calculate of analyst.")
        terminal.sees(PROMPT)
        terminal.types("d")
        terminal.sees(REASON_PROMPT)
        terminal.types("too easy")
        terminal.sees("Denied calculate of analyst.")
        assert terminal.ends() == (0, "Done.\n")
    decisions = Decision.objects.filter(run__task=task).order_by("call_id")
    found = list(decisions.values_list("call_id", "verdict", "via"))
    assert found == [("1.0", "approved", "api"), ("1.1", "denied", "api")]


def test_a_run_that_is_watched_without_a_terminal_says_who_can_decide(
    server: Server, worker: Worker, heartbit: Command
) -> None:
    task = f"{ONE} [[run: {uuid4()}]]"
    env = {"HEARTBIT_API_KEY": server.key, "HEARTBIT_URL": server.url, **NOWHERE}
    words = ("submit", task, "--agent", "analyst", "--approve", "--watch")
    process = heartbit.start(*words, env=env)
    assert process.stderr is not None
    told = next(line for line in process.stderr if "heartbit approve" in line)
    assert told.startswith("analyst waits for a decision about calculate: ")
    command = told.rpartition("heartbit ")[2].split()
    assert heartbit(*command, "--yes", env=env).code == 0
    assert heartbit.end(process).out == "Done.\n"
