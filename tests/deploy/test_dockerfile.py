"""The Dockerfile, as far as it can be checked without an engine."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
KNOWN = {
    *("ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL"),
    *("ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
}


@dataclass(frozen=True)
class Instruction:
    name: str
    rest: str


def instructions() -> list[Instruction]:
    """The Dockerfile's instructions; continued lines are joined, comments left out."""
    lines = [
        line
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    text = "\n".join(lines).replace("\\\n", " ")
    found = [line.partition(" ") for line in text.splitlines()]
    return [Instruction(name, " ".join(rest.split())) for name, _, rest in found]


def of(name: str) -> list[str]:
    return [found.rest for found in instructions() if found.name == name]


def test_every_instruction_is_known_and_complete() -> None:
    for found in instructions():
        assert found.name in KNOWN, found
        assert found.rest, found
        if found.rest.startswith("["):
            assert all(isinstance(word, str) for word in json.loads(found.rest))
        elif found.name == "RUN":
            assert shlex.split(found.rest)


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    sent = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    stages = set(re.findall(r" AS (\w+)", " ".join(f" {rest}" for rest in of("FROM"))))
    for rest in of("COPY"):
        flags = [word for word in rest.split() if word.startswith("--")]
        *sources, _ = [word for word in rest.split() if not word.startswith("--")]
        if flags:
            assert flags[0].removeprefix("--from=") in stages
            continue
        for source in sources:
            assert (ROOT / source).exists(), source
            assert source in sent, f"{source} is kept from the builder by .dockerignore"


def test_every_package_of_the_project_is_in_the_image() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    copied = {word for rest in of("COPY") for word in rest.split()}
    assert packages | {"templates"} <= copied


def test_installation_is_locked_by_hashes() -> None:
    installs = [rest for rest in of("RUN") if "pip install" in rest]
    assert len(installs) == 2
    for rest in installs:
        assert "--no-deps" in rest
        assert "--no-build-isolation" in rest
    assert "--require-hashes -r requirements.lock" in installs[0]


def test_nothing_runs_as_root() -> None:
    names = [found.name for found in instructions()]
    last_stage = names[len(names) - 1 - names[::-1].index("FROM") :]
    assert last_stage.index("USER") < last_stage.index("CMD")
    assert of("USER") == ["heartbit"]


def test_static_files_are_collected_without_a_service() -> None:
    (collect,) = [rest for rest in of("RUN") if "collectstatic" in rest]
    assert "DATABASE_URL=" in collect
    assert "HEARTBIT_SECRET_KEY=build" in collect


def test_the_health_check_says_whether_the_web_process_answers() -> None:
    (rest,) = of("HEALTHCHECK")
    options, _, command = rest.partition(" CMD ")
    assert all(word.startswith("--") for word in options.split())
    program, flag, code = json.loads(command)
    assert (program, flag) == ("python", "-c")
    for status, exit_code in ((200, 0), (400, 0), (503, 1)):
        with answering(status) as port:
            ended = subprocess.run([sys.executable, flag, code.replace("8000", str(port))])
        assert ended.returncode == exit_code, status
    assert "'/api/v1/health'" in code
    gone = subprocess.run(
        [sys.executable, flag, code.replace("8000", str(port))], stderr=subprocess.DEVNULL
    )
    assert gone.returncode != 0


@contextmanager
def answering(status: int) -> Iterator[int]:
    """A server that answers everything with this status, on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
