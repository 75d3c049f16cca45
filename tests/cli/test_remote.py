"""The run commands against a server: the same output and exit codes as at home, without Django."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import httpx
import pytest

from agents.choices import LIVE
from agents.models import Agent, Run, RunEvent
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.cli.backend import server as remote
from heartbit_site.cli.backend.protocol import checked
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.terminal.errors import USAGE
from heartbit_site.cli.views import outcome
from heartbit_site.contract.approvals import DECIDE, LIST_APPROVALS, DecisionIn
from heartbit_site.first_start import default_workspace
from heartbit_site.remote.server import Server
from tests.api.server import WebServer, key_for
from tests.cli.places import NOWHERE
from tests.cli.test_run import TEAM, delegate
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from heartbit_site.contract.approvals import ApprovalOut, DecidedOut
    from tests.command import Command, Ended, Started
    from tests.fleet import Worker

PROGRAM = """
import json, sys
sys.argv = ["heartbit", *json.loads(sys.argv[1])]
from heartbit_site.cli.main import main
try:
    main()
finally:
    slow = [name for name in ("django", "celery", "psycopg") if name in sys.modules]
    print(slow, file=sys.stderr)
"""


class Afar:
    """`heartbit` on a machine that has nothing but an address and a key."""

    def __init__(self, command: Command, url: str, key: str, state: Path) -> None:
        self.server = Server(url, key)
        self._command = command
        self._environment = {
            **NOWHERE,
            "HEARTBIT_URL": url,
            "HEARTBIT_API_KEY": key,
            "HEARTBIT_STATE_DIR": str(state),
        }

    def __call__(self, *arguments: str, **env: str) -> Ended:
        return self._command(*arguments, env={**self._environment, **env})

    def start(self, *arguments: str, **env: str) -> Started:
        return self._command.start(*arguments, env={**self._environment, **env})

    def end(self, process: Started) -> Ended:
        return self._command.end(process)

    def modules(self, *arguments: str) -> tuple[int, str]:
        """The exit code, and which of the slow modules were imported."""
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(arguments)],
            env={**os.environ, **self._environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr.splitlines()[-1]


@pytest.fixture
def afar(heartbit: Command, web: WebServer, no_state: Path) -> Iterator[Afar]:
    yield Afar(heartbit, web.url, key_for(default_workspace()), no_state)
    assert not no_state.exists()


@pytest.fixture
def parked(database: None) -> Iterator[str]:
    """An agent of the default workspace whose queue nobody serves."""
    found = Agent.objects.filter(workspace=default_workspace(), origin="", name="researcher")
    found.update(queue="nobody-serves-this")
    yield "researcher"
    found.update(queue="agents")


def test_submit_status_result_and_cancel_as_at_home(
    heartbit: Command, afar: Afar, worker: Worker
) -> None:
    submitted = afar("submit", TEAM)
    assert (submitted.code, submitted.err) == (0, "")
    run_id = submitted.out.strip()
    waited = afar("result", run_id, "--wait")
    assert (waited.code, waited.out, waited.err) == (0, "All done.\n", "")
    for arguments in (
        ["status", run_id],
        ["status", run_id[:18], "--json"],
        ["runs", "show", run_id],
        ["runs", "show", run_id, "--json"],
        ["cancel", run_id],
    ):
        there, here = afar(*arguments), heartbit(*arguments)
        assert (there.code, there.out, there.err) == (here.code, here.out, here.err), arguments
    there, here = (command("status", "--last", "3") for command in (afar, heartbit))
    assert columns(there.out) == columns(here.out)
    there, here = (command("status", "--last", "3", "--json") for command in (afar, heartbit))
    assert there.out == here.out
    listing = ("runs", "list", "--agent", "writer", "--last", "3", "--json")
    assert afar(*listing).out == heartbit(*listing).out
    assert not {"output", "structured"} & there.json["runs"][0].keys()
    absent = afar("status", str(uuid4()))
    assert (absent.code, absent.out) == (2, "")
    assert "no run begins with" in absent.err


def columns(table: str) -> list[tuple[str, ...]]:
    """The rows of a table without ages, which move, or what one that is not over yet has taken."""
    head, *rows = table.splitlines()
    begins = [found.start() for found in re.finditer(r"\S+", head)]
    names = head.split()
    found = []
    for row in rows:
        cells = [row[a:b].strip() for a, b in pairwise([*begins, None])]
        cell = dict(zip(names, cells, strict=True))
        cell.pop("AGE")
        if cell["STATUS"] in LIVE:
            cell.pop("TOOK")
        found.append(tuple(cell.values()))
    return [tuple(names), *found]


def test_watch_shows_the_run_and_exits_as_at_home(afar: Afar, worker: Worker) -> None:
    ended = afar("submit", TEAM, "--watch")
    assert (ended.code, ended.out) == (0, "All done.\n")
    assert "writer        succeeded" in ended.err
    failed = afar("submit", "x [[error: 401]]", "--agent", "writer", "--watch")
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.splitlines()[-1].startswith("heartbit: openai:")


def test_watch_json_is_a_line_for_each_fact(afar: Afar, heartbit: Command, worker: Worker) -> None:
    task = delegate(("writer", "Write. [[text: Written well.]] [[stream: 800]]"))
    lines = afar("submit", task, "--watch", "--json").lines
    assert {line["type"] for line in lines} == {"run", "event", "delta", "result"}
    run_id = lines[-1]["id"]
    assert {"type": "result", **heartbit("result", run_id, "--json").json} == lines[-1]
    complete(lines)


def complete(lines: list[dict[str, Any]]) -> None:
    """Each run's events are its journal, once and in order."""
    runs = {line["run_id"] for line in lines if line["type"] == "run"}
    assert len([line for line in lines if line["type"] == "run"]) == len(runs)
    for run in runs:
        seqs = [line["seq"] for line in lines if line["type"] == "event" and line["run_id"] == run]
        journal = RunEvent.objects.filter(run_id=run).order_by("seq").values_list("seq", flat=True)
        assert seqs == list(journal)


def test_a_connection_that_breaks_loses_and_doubles_nothing(
    afar: Afar,
    worker: Worker,
    web: WebServer,
) -> None:
    task = 'Work. [[calls: calculate {"expression": "1+1"}]] [[rounds: 5]] [[latency: 250]]'
    with Breaking(web.url, after=2500) as between:
        process = afar.start(
            *("submit", task, "--agent", "analyst", "--watch", "--json"), HEARTBIT_URL=between.url
        )
        ended = afar.end(process)
    assert ended.code == 0, ended.err
    assert between.broken >= 2
    complete(ended.lines)


def test_events_are_followed_over_broken_connections(afar: Afar, parked: str) -> None:
    with Breaking(afar.server.url, after=1500) as between:
        process = afar.start(
            *("events", "--follow", "--type", "run.*", "--since", "1s", "--json"),
            HEARTBIT_URL=between.url,
        )
        assert process.stdout is not None
        runs: list[str] = []
        told: list[str] = []
        for _ in range(4):
            runs.append(str(start_run(default_workspace(), "x", agent=parked)))
            while not told or told[-1] != runs[-1]:
                event = json.loads(process.stdout.readline())
                told += [event["data"]["run_id"]] if event["type"] == "run.queued" else []
        process.send_signal(signal.SIGINT)
        assert afar.end(process).code == 130
    assert between.broken >= 1
    assert [one for one in told if one in runs] == runs


def test_ctrl_c_leaves_the_run_alone(afar: Afar, parked: str) -> None:
    task = f"wait {uuid4()}"
    process = afar.start("submit", task, "--agent", parked, "--watch", "--json")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())  # it follows
    process.send_signal(signal.SIGINT)
    ended = afar.end(process)
    assert ended.code == 130
    assert "The run goes on" in ended.err
    assert Run.objects.get(pk=first["run_id"]).status == "queued"
    assert afar("cancel", first["run_id"]).out == f"Run {first['run_id']} was cancelled.\n"


def test_a_queue_without_a_worker_is_said(afar: Afar, parked: str) -> None:
    submitted = afar("submit", "wait", "--agent", parked)
    assert "nobody-serves-this" in submitted.err
    early = afar("result", submitted.out.strip())
    assert early.code == 1
    assert "has not ended (queued)" in early.err


def test_a_long_form_and_approval_go_along(afar: Afar, parked: str) -> None:
    key = f"remote-{uuid4()}"
    payload = json.dumps({"action": "review", "spec": "The module."})
    options = ("--payload", payload, "--approve", "-p", "5", "--idempotency-key", key)
    first = afar("submit", *options, "--agent", parked)
    assert first.code == 0, first.err
    run = Run.objects.get(pk=first.out.strip())
    assert (run.approve, run.priority, (run.payload or {})["action"]) == (
        True,
        5,
        json.loads(payload)["action"],
    )
    assert afar("submit", *options, "--agent", parked).out == first.out


def test_what_waits_is_listed_and_decided(afar: Afar, worker: Worker) -> None:
    task = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
    run_id = afar("submit", task, "--agent", "analyst", "--approve").out.strip()

    backend = ServerBackend(afar.server)

    def mine() -> list[ApprovalOut]:
        return backend.every(LIST_APPROVALS, run=run_id).calls

    def decide(verdict: str, **more: Any) -> DecidedOut:
        body = {"digest": call.digest, "verdict": verdict, **more}
        given = checked(DecisionIn, body)
        return backend.call(DECIDE, given, run_id=call.run_id, call_id=call.call_id)

    [call] = wait_until(mine, what="it waits")
    decided = decide("approve", always={"scope": "run", "until": None})
    assert (decided.call_id, decided.verdict) == (call.call_id, "approved")
    with pytest.raises(ConflictError, match="already approved by API key test"):
        decide("deny", reason="late")
    assert afar("result", run_id, "--wait").out == "Done.\n"


def test_no_remote_command_imports_django(afar: Afar, worker: Worker) -> None:
    run_id = afar("submit", "x [[text: y]]", "--agent", "writer").out.strip()
    for arguments in (
        ["submit", "x [[text: y]]", "--agent", "writer", "--watch", "--json"],
        ["result", run_id, "--wait"],
        ["status"],
    ):
        assert afar.modules(*arguments) == (0, "[]"), arguments


@pytest.mark.parametrize(
    ("environment", "code", "words"),
    [
        ({"HEARTBIT_API_KEY": ""}, 3, "HEARTBIT_API_KEY is not set"),
        ({"HEARTBIT_API_KEY": "hb_x_y"}, 3, "does not take the key in HEARTBIT_API_KEY"),
        ({"HEARTBIT_API_KEY": "två ord"}, 3, "HEARTBIT_API_KEY cannot be used"),
        ({"HEARTBIT_URL": "http://127.0.0.1:1"}, 3, "cannot be reached"),
        ({"HEARTBIT_URL": "ftp://x"}, 3, "HEARTBIT_URL cannot be used: it is not a server address"),
        ({"HEARTBIT_URL": "https://u:p@x"}, 3, "HEARTBIT_URL cannot be used: it holds more"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    afar: Afar, environment: dict[str, str], code: int, words: str
) -> None:
    ended = afar("status", **environment)
    assert (ended.code, ended.out) == (code, "")
    [line] = ended.err.splitlines()
    assert line.startswith("heartbit: ")
    assert words in line


def test_what_the_server_refuses_is_one_sentence(afar: Afar, web: WebServer) -> None:
    reader = key_for(default_workspace(), ["runs:read"])
    cases: list[tuple[list[str], dict[str, str], str]] = [
        (["submit", "x", "--agent", "writr"], {}, "did you mean writer?"),
        (["submit", "x", "--model", "opnai:x"], {}, "did you mean openai?"),
        (["submit", "x"], {"HEARTBIT_API_KEY": reader}, "--scope runs:write"),
        (["submit", "x", "--config", "a.toml"], {}, "leave --config out"),
        (["status", "../../admin"], {}, "No run begins with"),
    ]
    for arguments, environment, words in cases:
        ended = afar(*arguments, **environment)
        assert (ended.code, ended.out) == (2, ""), arguments
        assert words in ended.err, arguments


def test_another_web_server_is_told_apart(afar: Afar, web: WebServer) -> None:
    ended = afar("status", HEARTBIT_URL=f"{web.url}/admin")
    assert ended.code == 3
    assert "does not answer as a Heartbit server" in ended.err


@pytest.mark.parametrize(
    ("option", "variable", "expected"),
    [
        ("http://localhost:1", "http://localhost:2", "http://localhost:1"),
        (None, "http://localhost:2/", "http://localhost:2"),
        (None, "", "http://localhost:3"),
        ("heartbit.example", "", "https://heartbit.example"),
    ],
)
def test_the_option_wins_then_the_variable_then_the_file(
    tmp_path: Path, option: str | None, variable: str, expected: str
) -> None:
    file = tmp_path / "heartbit.toml"
    file.write_text('[server]\nurl = "http://localhost:3"\n')
    environ = {"HEARTBIT_CONFIG": str(file), "HEARTBIT_API_KEY": "hb_a_b", "HEARTBIT_URL": variable}
    found = remote.server(option, environ=environ)
    assert found is not None
    assert found.url == expected
    assert "hb_a_b" not in repr(found)


def test_without_an_address_the_database_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "heartbit.toml"
    file.write_text("")
    assert remote.server(environ={"HEARTBIT_CONFIG": str(file)}) is None


@pytest.mark.parametrize("key", [{"HEARTBIT_API_KEY": "hb_a_b"}, {}])
def test_given_a_server_in_a_file_nobody_named_then_the_key_is_not_sent_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "heartbit.toml"
    file.write_text('[server]\nurl = "https://evil.example/$(id)"\n')
    with pytest.raises(ConfigurationError) as refused:
        remote.server(environ=key)
    assert str(refused.value) == (
        "./heartbit.toml names the server https://evil.example/$(id): say --url "
        "'https://evil.example/$(id)', or HEARTBIT_CONFIG=heartbit.toml, to send your key there; "
        "or --url '' to use this installation."
    )
    assert remote.server("", environ=key) is None
    file.write_text('[server]\nurl = "https://heartbit.example"\n')
    keyed = {"HEARTBIT_API_KEY": "hb_a_b"}
    named = [
        remote.server(environ={**keyed, "HEARTBIT_CONFIG": "heartbit.toml"}),
        remote.server(None, file, environ=keyed),
        remote.server("https://heartbit.example", environ=keyed),
        remote.server(environ={**keyed, "HEARTBIT_URL": "https://heartbit.example"}),
    ]
    assert named == [Server("https://heartbit.example", "hb_a_b")] * 4
    file.write_text('[provider]\nname = "openai"\n')
    assert remote.server(environ=key) is None


@pytest.mark.parametrize(
    "command", [["submit", "x"], ["status"], ["result", "x"], ["cancel", "x"], ["approve"]]
)
def test_given_a_server_in_a_cloned_folder_then_every_command_that_has_the_key_stops(
    command: list[str], tmp_path: Path, heartbit: Command
) -> None:
    (tmp_path / "heartbit.toml").write_text('[server]\nurl = "https://evil.example"\n')
    ended = heartbit(*command, cwd=tmp_path)
    assert (ended.code, ended.out) == (3, "")
    assert "./heartbit.toml names the server https://evil.example: say" in ended.err


def test_a_run_in_this_process_asks_no_server(heartbit: Command, tmp_path: Path) -> None:
    (tmp_path / "heartbit.toml").write_text('[server]\nurl = "https://evil.example"\n')
    ended = heartbit("run", "x [[text: Here.]]", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "Here.\n")
    local = heartbit("status", "--url", "", "--last", "1", cwd=tmp_path)
    assert local.code == 0


def test_a_key_in_the_clear_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    remote.server("http://heartbit.example", environ={"HEARTBIT_API_KEY": "hb_a_b"})
    assert "unencrypted" in capsys.readouterr().err


def test_the_fields_are_those_at_home(heartbit: Command, afar: Afar, parked: str) -> None:
    run = afar("submit", "x", "--agent", parked, "--json").json
    assert set(run) == {*outcome.FIELDS, "children"}
    assert heartbit("status", run["id"], "--json").json == run


def test_keys_are_made_listed_and_revoked(heartbit: Command, web: WebServer) -> None:
    made = heartbit("keys", "create", "nightly", "--scope", "runs:read")
    key = made.out.strip()
    assert (made.code, key[:3]) == (0, "hb_")
    assert key not in made.err

    def opens(method: str) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.request(method, f"{web.url}/api/v1/runs", headers=headers).status_code

    assert (opens("GET"), opens("POST")) == (200, 403)
    listed = heartbit("keys", "list").out
    prefix = "_".join(key.split("_")[:2])
    assert f"{prefix}  active" in listed
    assert key.split("_", 2)[2] not in listed
    revoked = heartbit("keys", "revoke", prefix)
    assert revoked.out == f"The key {prefix} (nightly) is revoked.\n"
    assert opens("GET") == 401


def test_a_key_without_scopes_named_starts_runs_and_sees_them(
    heartbit: Command, database: None
) -> None:
    assert "runs:read and runs:write only; --scope" in heartbit("keys", "create", "usual").err
    made = heartbit("keys", "create", "usual", "--json").json
    assert sorted(made["scopes"]) == ["runs:read", "runs:write"]
    listed = heartbit("keys", "list", "--json").out
    assert made["prefix"] in listed
    assert made["key"] not in listed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((" ",), "1 to 100 characters"),
        (("x", "--scope", "root"), "root is no scope"),
        (("x", "--expires", "2020-01-01"), "past"),
        (("x", "--expires", "2099-01-01", "--no-expiry"), "contradict each other"),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(
    heartbit: Command, database: None, arguments: tuple[str, ...], words: str
) -> None:
    ended = heartbit("keys", "create", *arguments)
    assert (ended.code, ended.out, words in ended.err) == (USAGE, "", True), ended.err


def test_a_key_that_does_not_exist_is_not_revoked(heartbit: Command, database: None) -> None:
    ended = heartbit("keys", "revoke", "hb_nothing")
    assert (ended.code, "The workspace has no API key with this prefix" in ended.err) == (
        USAGE,
        True,
    )


def test_a_key_ends_when_it_is_said(heartbit: Command, database: None) -> None:
    made = heartbit(
        *("keys", "create", "k", "--expires", "2099-01-01T12:00:00", "--json"), env={"TZ": "UTC"}
    )
    assert (made.code, made.json["expires_at"]) == (0, "2099-01-01T12:00:00+00:00")
    assert heartbit("keys", "create", "k", "--no-expiry", "--json").json["expires_at"] is None


class Breaking:
    """Between a client and its server; cuts the first connections after so many bytes."""

    def __init__(self, url: str, *, after: int, times: int = 3) -> None:
        self._target = int(url.rpartition(":")[2])
        self._after = after
        self._times = times
        self._threads: list[threading.Thread] = []
        self.broken = 0

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=10)
        self._listener.close()

    def _start(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._carry, client)

    def _carry(self, client: socket.socket) -> None:
        """Pass bytes both ways until one side ends, or the server has said enough."""
        said = 0
        # A reset is an end like any other: whoever is done need not say goodbye.
        with (
            contextlib.suppress(ConnectionError),
            client,
            socket.create_connection(("127.0.0.1", self._target)) as server,
        ):
            other = {client: server, server: client}
            while said <= self._after or self.broken >= self._times:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(512)
                    if not data:
                        return
                    other[source].sendall(data)
                    said += len(data) if source is server else 0
            self.broken += 1
