"""The systemd units, as far as they can be checked without systemd as the first process."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from heartbit_site.base import reader_process, reader_walls
from heartbit_site.cli.main import COMMANDS
from memory.actions import ingest_documents
from memory.knowledge import reader
from tests.base.test_reader_walls import BREAKOUT
from tests.deploy import under_unit
from tests.deploy.under_unit import directives
from tools.connectors import web_fetch
from tools.sandbox import seccomp
from tools.sandbox.languages import interpreter_for
from tools.sandbox.program import Limits, Program
from tools.sandbox.walls import bubblewrap, walls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
WEB, WORKER = UNITS[1:]
#: Directives in which the worker's unit is less strict than the others.
LOOSENED = (
    *("ProtectHostname", "ProtectKernelLogs", "ProtectKernelTunables"),
    *("RestrictAddressFamilies", "RestrictNamespaces", "SystemCallFilter"),
)
NEEDS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("systemd-analyze"),
    reason="needs root, to mount as systemd does, and Debian's systemd",
)
INSTALLED = "/opt/heartbit/.venv/bin/heartbit"
EXAMPLE = (ROOT / "deploy/systemd/heartbit.env.example").read_text()


def megabytes(size: str) -> int:
    return int(size[:-1]) * {"M": 1, "G": 1024}[size[-1]]


def names(paths: Iterable[Path]) -> set[str]:
    return {path.name for path in paths}


def test_there_is_a_unit_for_each_process() -> None:
    processes = {"heartbit-web.service", "heartbit-beat.service", "heartbit-worker@.service"}
    assert names(UNITS) == processes


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_that_exists(unit: Path) -> None:
    program, command, *options = shlex.split(directives(unit)["ExecStart"])
    assert program == INSTALLED
    assert command in COMMANDS
    for option in options:
        assert f"\n{option.removeprefix('$')}=" in EXAMPLE


def sandbox(unit: Path) -> set[str]:
    lines = unit.read_text().partition("\nUser=heartbit\n")[2].partition("[Install]")[0]
    return {line for line in lines.splitlines() if line and not line.startswith("#")}


def test_the_units_are_sandboxed_alike() -> None:
    beat, web, worker = map(sandbox, UNITS)
    assert beat == web
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="):
        assert line in web & worker
    # Only what bubblewrap cannot do without: see the test of each below.
    assert {line.partition("=")[0] for line in web ^ worker} == set(LOOSENED)


def test_each_process_has_a_limit_of_memory() -> None:
    for unit in UNITS:
        found = directives(unit)
        assert megabytes(found["MemoryHigh"]) < megabytes(found["MemoryMax"]) <= 8 * 1024
    worker = directives(WORKER)
    assert worker["OOMPolicy"] == "continue", "a reader that is killed must not end the worker"
    readers = ingest_documents.MOST_AT_ONCE * reader._MEMORY_BYTES
    pages = reader_process.MOST_AT_ONCE * web_fetch._MEMORY_BYTES
    assert (readers + pages) / 1_048_576 + 1_024 < megabytes(worker["MemoryMax"])


@pytest.fixture
def held(tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Run a command as a unit would, with other values of some directives: output and errors."""

    def run(
        unit: Path, *command: str, files: tuple[int, ...] = (), given: str = "", **others: str
    ) -> tuple[str, str]:
        text = unit.read_text()
        for name, value in others.items():
            text += f"{name}={value}\n"
        (tmp_path / "unit").write_text(text)
        done = subprocess.run(
            [
                *("unshare", "--mount", "--propagation", "private", sys.executable),
                *(under_unit.__file__, str(tmp_path / "unit"), *command),
            ],
            pass_fds=files,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout, done.stderr

    return run


@pytest.fixture
def program() -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """The command of a program of an agent in its sandbox, and the files that it inherits."""
    files = {name: os.memfd_create(name) for name in ("code", "folder", "shell", "filter")}
    os.write(files["filter"], seccomp.build_filter())
    os.lseek(files["filter"], 0, os.SEEK_SET)
    shell = interpreter_for(Program("shell", ""))
    words = (bubblewrap(), *walls(shell, files, Limits()), "/bin/echo", "held")
    yield words, tuple(files.values())
    for file in files.values():
        os.close(file)


@NEEDS_ROOT
@pytest.mark.parametrize("without", [None, *LOOSENED])
def test_programs_of_agents_run_under_the_workers_unit(
    held: Callable[..., tuple[str, str]],
    program: tuple[tuple[str, ...], tuple[int, ...]],
    without: str | None,
) -> None:
    """And no longer if one of its lines is as strict as in the other units."""
    words, files = program
    stricter = {without: directives(WEB)[without]} if without else {}
    output, said = held(WORKER, *words, files=files, **stricter)
    assert output == ("" if without else "held\n"), said
    assert said.startswith("bwrap: " if without else ""), said


@NEEDS_ROOT
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_readers_have_their_walls_under_each_unit(
    held: Callable[..., tuple[str, str]], unit: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "secret").write_text("canary")
    given = {"secret": str(tmp_path / "secret"), "parent": os.getpid(), "port": 9, "socket": "/x"}
    command = (sys.executable, "-I", reader_walls.__file__, "10", "500000000", str(BREAKOUT))
    output, said = held(unit, *command, given=json.dumps(given))
    assert output, said
    assert json.loads(output)["refused"] == "nothing"


def test_a_worker_may_drain_before_it_is_killed() -> None:
    seconds = int(directives(WORKER)["TimeoutStopSec"])
    assert seconds > settings.HEARTBIT_DRAIN_SECONDS


def test_the_example_names_settings_that_the_reference_knows() -> None:
    known = (ROOT / "docs/reference/settings.md").read_text()
    for name in re.findall(r"^(HEARTBIT_\w+|\w+_(?:KEY|URL))=", EXAMPLE, re.MULTILINE):
        assert f"`{name}`" in known, name


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs Debian's systemd")
def test_systemd_understands_every_line(tmp_path: Path) -> None:
    program = tmp_path / "heartbit"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for unit in UNITS:
        text = unit.read_text().replace(INSTALLED, str(program))
        (tmp_path / unit.name).write_text(text)
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.glob("*.service")))],
        capture_output=True,
        text=True,
        check=False,
    )
    about_ours = [line for line in verified.stderr.splitlines() if "heartbit" in line]
    assert (verified.returncode, about_ours) == (0, [])
