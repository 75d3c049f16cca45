"""Bad input: the exit code, exactly one line on stderr, no traceback, nothing written."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Run, WorkerHeartbeat
from heartbit_site.cli.main import COMMANDS, load
from tests.command import NO_MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.command import Command, Ended

NOBODY = "postgresql://nobody@127.0.0.1:9/none"


def one_line(ended: Ended, code: int, *parts: str) -> None:
    assert ended.code == code, ended.err
    assert ended.out == ""
    assert ended.err.startswith("heartbit: ")
    assert ended.err.count("\n") == 1, ended.err
    assert all(part in ended.err for part in parts), ended.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_is_called_in_capitals(name: str) -> None:
    def commands(found: Any) -> Iterator[Any]:
        yield found
        for child in getattr(found, "commands", {}).values():
            yield from commands(child)

    for command in commands(load(name)):
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                assert str(parameter.metavar).strip("[]").isupper(), parameter.name


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([""], ["is empty"]),
        (["run", " \n"], ["is empty"]),
        (["submit", ""], ["is empty"]),
        (["run"], ["Missing argument 'TASK'", "See `heartbit run --help`."]),
        (["result"], ["Missing argument 'RUN'", "See `heartbit result --help`."]),
        (["keys", "create"], ["Missing argument 'NAME'", "See `heartbit keys create --help`."]),
        (["--approve", "nonsense"], ["There is no command 'nonsense'"]),
        (["run", "--nope", "x"], ["--nope"]),
        (["status", "--restate-url", "http://x"], ["kept in PostgreSQL", "--url names"]),
        (["stauts"], ["did you mean `heartbit status`?"]),
        (["wisdom"], ["There is no command 'wisdom'", "`heartbit run wisdom`"]),
        (["--model", "openai:gpt", "nonsense", "--json"], ["`heartbit run nonsense`"]),
        (["fix", "the", "bug"], ["unexpected extra argument"]),
        (["submit", "x", "--priority", "high"], ["--priority"]),
        (["serve", "--concurrency", "0"], ["--concurrency"]),
        (["up", "--port", "70000"], ["--port"]),
        (["agents", "shwo"], ["No such command 'shwo'", "Did you mean 'show'?"]),
        (["runs", "--status", "lost"], ["for '--status' / '-s': 'lost' is not one of 'queued'"]),
        (["approve", "--yes"], ["Name the run"]),
        (["completion", "tcsh"], ["tcsh"]),
    ],
)
def test_what_is_not_understood_is_usage(
    heartbit: Command, arguments: list[str], parts: list[str]
) -> None:
    one_line(heartbit(*arguments), 2, *parts)


@pytest.mark.parametrize(
    ("arguments", "env", "code", "parts"),
    [
        (["run", "x", "--agent", "resercher"], {}, 2, ["did you mean researcher?"]),
        (["submit", "x", "--agent", "nobody"], {}, 2, ["There is no agent named 'nobody'"]),
        (["run", "x"], {"HEARTBIT_PROVIDER": "opnai"}, 3, ["did you mean openai?"]),
        (["run", "x", "--model", "openai:gpt"], NO_MODEL, 3, ["set OPENAI_API_KEY"]),
        (["submit", "x", "--model", "nope:x"], {}, 2, ['provider "nope"']),
        (["run", "x"], {"DATABASE_URL": NOBODY}, 3, ["DATABASE_URL"]),
        (["status"], {"DATABASE_URL": "mysql://x"}, 3, ["DATABASE_URL", "'mysql'"]),
        (["status"], {"HEARTBIT_LOG": "loud"}, 3, ["HEARTBIT_LOG"]),
        (["status", "00000000-0000"], {}, 2, ["no run begins with"]),
        (["serve", "--queues", "A b"], {}, 2, ["names no queue"]),
        (["tools", "show", "calcualte"], {}, 2, ["did you mean calculate?"]),
        (["agents", "show", "writter"], {}, 2, ["did you mean writer?"]),
        (["run", "x", "--config", "/nowhere.toml"], {}, 3, ["/nowhere.toml does not exist"]),
        (["run", "x"], {"HEARTBIT_CONFIG": "/nowhere.toml"}, 3, ["HEARTBIT_CONFIG names"]),
    ],
)
def test_what_cannot_be_done_writes_nothing(
    heartbit: Command,
    runs: Callable[[], int],
    arguments: list[str],
    env: dict[str, str],
    code: int,
    parts: list[str],
) -> None:
    before, known = runs(), set(WorkerHeartbeat.objects.values_list("pk", flat=True))
    one_line(heartbit(*arguments, env=env), code, *parts)
    assert runs() == before
    # Workers of other tests may come, and rows of earlier ones go.
    assert not WorkerHeartbeat.objects.exclude(pk__in=known).filter(home="local").exists()


@pytest.mark.parametrize(
    ("script", "parts"),
    [("[[error: 404]]", ["check the model's name"]), ("[[error: 401]]", ["check OPENAI_API_KEY"])],
)
def test_a_refusing_provider_fails_the_run_with_its_sentence(
    heartbit: Command, script: str, parts: list[str]
) -> None:
    ended = heartbit("run", f"x {script}", "--json")
    assert ended.code == 1
    assert ended.err == ""
    assert all(part in ended.json["error"]["message"] for part in parts)


def test_an_unreachable_provider_is_said_before_a_row_is_written(heartbit: Command) -> None:
    before = Run.objects.count()
    ended = heartbit("run", "x", env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.splitlines()[-1] == (
        "heartbit: openai:gpt-6-sol cannot be reached: 127.0.0.1:9 does not answer (Connection "
        "refused); start that server, or check OPENAI_BASE_URL and the network."
    )
    assert Run.objects.count() == before


def test_a_provider_that_refuses_fails_the_run_with_one_sentence(heartbit: Command) -> None:
    ended = heartbit("run", "[[error: 400]]")
    assert (ended.code, ended.out) == (1, "")
    *progress, last = ended.err.splitlines()
    assert last.startswith("heartbit: openai:")
    assert "rejected the request" in last
    assert not any("rejected the request" in line for line in progress)
    newest = Run.objects.order_by("-created_at").first()
    assert newest is not None
    assert newest.status == "failed"


def test_a_taken_port_is_said_before_anything_starts(heartbit: Command, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        state = {"HEARTBIT_STATE_DIR": str(tmp_path / "s")}
        one_line(heartbit("up", "--port", port, env=state), 3, port, "--port")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("command", [["run", "x"], ["status"], ["up", "--port", "0"]][:2])
def test_a_state_directory_that_cannot_be_used(
    heartbit: Command, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "file").touch()
    env = {"HEARTBIT_STATE_DIR": str(tmp_path / "file" / "s")}
    one_line(heartbit(*command, env=env), 3, "set HEARTBIT_STATE_DIR")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_directory_that_is_not_writable(heartbit: Command, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    env = {"HEARTBIT_STATE_DIR": str(tmp_path / "s")}
    one_line(heartbit("status", env=env), 3, "set HEARTBIT_STATE_DIR")


def test_debug_shows_where(heartbit: Command) -> None:
    ended = heartbit("status", "--debug", env={"DATABASE_URL": "mysql://x"})
    assert ended.code == 3
    assert "Traceback" in ended.err
    assert ended.err.splitlines()[-1].startswith("heartbit: ")
