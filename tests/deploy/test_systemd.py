"""The systemd units, as far as they can be checked without systemd as the first process."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from heartbit_site.cli.main import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
INSTALLED = "/opt/heartbit/.venv/bin/heartbit"
EXAMPLE = (ROOT / "deploy/systemd/heartbit.env.example").read_text()


def directives(unit: Path) -> dict[str, str]:
    lines = unit.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


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


def test_the_units_are_sandboxed_alike() -> None:
    sandboxes = {
        unit.read_text().partition("\nUser=heartbit\n")[2].partition("[Install]")[0]
        for unit in UNITS
    }
    (sandbox,) = sandboxes
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="):
        assert line in sandbox.splitlines()


def test_a_worker_may_drain_before_it_is_killed() -> None:
    seconds = int(directives(ROOT / "deploy/systemd/heartbit-worker@.service")["TimeoutStopSec"])
    assert seconds > settings.HEARTBIT_DRAIN_SECONDS


def test_the_example_names_settings_that_the_readme_knows() -> None:
    readme = (ROOT / "README.md").read_text()
    for name in re.findall(r"^(HEARTBIT_\w+|\w+_(?:KEY|URL))=", EXAMPLE, re.MULTILINE):
        assert f"`{name}`" in readme, name


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
