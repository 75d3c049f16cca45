from __future__ import annotations

import re
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import typer

from heartbit_site.base import variables
from heartbit_site.cli.main import COMMANDS, load

if TYPE_CHECKING:
    from tests.command import Command

HELP_CPU_SECONDS = 0.4
SLOW = ("django", "celery", "psycopg", "rich", "httpx", "pydantic", "redis")
SLOW_TO_LIST = (
    *("httpx", "ninja", "mcp", "redis", "tools.calls.pipeline", "tools.agent_tools"),
    *("agents.agent_tools", "agents.journal.events", "heartbit_site.operations.runs"),
    *("django.contrib.admin", "celery", "scheduling", "heartbit_site.base.toolspec"),
)


def test_help_names_every_command_and_the_exit_codes(heartbit: Command) -> None:
    ended = heartbit("--help")
    assert ended.code == 0
    assert all(f"\n  {name} " in ended.out for name in COMMANDS)
    assert "130 cancelled" in ended.out
    assert "..." not in ended.out.replace("COMMAND ...", ""), "a summary is cut: shorten it"


@pytest.mark.parametrize("name", COMMANDS)
def test_at_80_columns_no_help_is_cut(name: str) -> None:
    loaded = load(name)
    context = typer.Context(loaded, info_name=f"heartbit {name}", terminal_width=80)
    inner = getattr(loaded, "commands", {})
    helps = [loaded.get_help(context)]
    for word, command in inner.items():
        below = typer.Context(command, parent=context, info_name=word, terminal_width=80)
        helps.append(command.get_help(below))
        summary = command.get_short_help_str(10_000)
        assert summary in " ".join(helps[0].split())
    for text in helps:
        assert max(map(len, text.splitlines())) <= 80
        assert not re.findall(r"[a-z]\.\.\.", text)


def test_help_is_quick() -> None:
    """Processor time, so that a busy machine does not fail it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "heartbit_site.cli.main", "--help"]
    for _ in range(3):
        subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used / 3 < HELP_CPU_SECONDS


def test_the_surface_imports_nothing_slow() -> None:
    program = (
        "import sys; import heartbit_site.cli.main;"
        f"print([name for name in {SLOW!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.strip() == b"[]"


def test_the_list_of_runs_imports_no_tool_and_nothing_slow() -> None:
    program = f"""
import sys
from heartbit_site.cli.installation import startup
from heartbit_site.cli.main import load
from heartbit_site.environment import read
load("status")
startup.set_up_django(read(), reads_only=True)
import heartbit_site.cli.backend.local, heartbit_site.first_start
from heartbit_site.contract.runs import LIST_RUNS
from heartbit_site.operations import function_of
function_of(LIST_RUNS)
print([name for name in {SLOW_TO_LIST!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.strip() == b"[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_how_its_help_begins(name: str) -> None:
    assert (load(name).help or "").partition("\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(heartbit: Command, name: str) -> None:
    ended = heartbit(name, "--help")
    assert (ended.code, ended.err) == (0, "")


def test_the_help_of_serve_names_the_time_to_drain(heartbit: Command) -> None:
    words = " ".join(heartbit("serve", "--help").out.split())
    assert f"HEARTBIT_DRAIN_SECONDS ({variables.DRAIN_SECONDS.default:g})" in words
    assert "two seconds" not in words


def test_the_help_of_fleet_stop_says_who_starts_the_worker_again(heartbit: Command) -> None:
    words = " ".join(heartbit("fleet", "stop", "--help").out.split())
    assert "A supervisor that restarts whatever ends (docker-compose.yml," in words
    assert "starts the worker again" in words


def test_version(heartbit: Command) -> None:
    assert heartbit("--version").out.startswith("heartbit ")
