"""The sandbox ``remote``: what its runner refuses, and what a runner that lies gets through."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import httpx
import pytest

from tools.sandbox import wire
from tools.sandbox.choice import find_sandbox
from tools.sandbox.program import Limits, Program, SandboxError
from tools.sandbox.remote import Remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from tests.tools.sandbox.processes import RunnerProcess

ENDED = {"code": 0, "ending": "exited", "stdout": "", "stderr": "", "folder": "", "refused": []}


def posted(runner: RunnerProcess, body: bytes, key: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key or runner.key}"}
    return httpx.post(f"{runner.url}{wire.PROGRAMS}", content=body, headers=headers, timeout=60)


async def test_files_go_there_and_come_back(runner: RunnerProcess) -> None:
    code = "open('out/b.bin', 'wb').write(open('out/a', 'rb').read() * 2)"
    program = Program("python", code, {"out/a": bytes(range(256))})
    ended = await Remote(runner.url, runner.key).run(program)
    assert (ended.code, ended.stderr, ended.sandbox) == (0, "", "remote")
    assert ended.files == {"out/a": bytes(range(256)), "out/b.bin": bytes(range(256)) * 2}


async def test_it_is_found_by_its_settings_or_says_what_is_missing(
    runner: RunnerProcess, settings: Settings
) -> None:
    settings.HEARTBIT_SANDBOX = "remote"
    settings.HEARTBIT_SANDBOX_URL = runner.url
    with pytest.raises(SandboxError, match="HEARTBIT_SANDBOX_KEY is not set"):
        await find_sandbox()
    settings.HEARTBIT_SANDBOX_KEY = runner.key
    assert (await find_sandbox()).name == "remote"


async def test_another_key_runs_nothing(runner: RunnerProcess) -> None:
    assert "rejected the key" in str(await Remote(runner.url, "x" * 64).problem())
    for headers in ({}, {"Authorization": runner.key}, {"Authorization": "Bearer x"}):
        assert httpx.get(f"{runner.url}/v1/ready", headers=headers).status_code == 401


def test_a_runner_says_whether_it_holds(runner: RunnerProcess) -> None:
    headers = {"Authorization": f"Bearer {runner.key}"}
    answer = httpx.get(f"{runner.url}/v1/ready", headers=headers, timeout=30)
    assert (answer.status_code, answer.json()) == (200, {"sandbox": "bubblewrap"})
    assert httpx.get(f"{runner.url}/elsewhere", headers=headers).status_code == 404


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"[]", "the body"),
        (b'{"language": "perl", "code": ""}', "language"),
        (b'{"language": "shell", "code": "", "limits": {"seconds": 9999}}', "limits.seconds"),
        (b'{"language": "shell", "code": "", "limits": {"processes": 0}}', "limits.processes"),
        (b'{"language": "shell", "code": "", "folder": "*"}', "base64"),
        (b'{"language": "shell", "code": "", "folder": "eHh4eA=="}', "folder"),
        (b'{"language": "shell", "code": "", "network": true}', "network"),
        (b"[" * 100_000, "the body"),
    ],
)
def test_requests_that_are_none_are_refused(runner: RunnerProcess, body: bytes, says: str) -> None:
    answer = posted(runner, body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]


def test_a_body_has_a_limit(runner: RunnerProcess) -> None:
    assert posted(runner, bytes(wire.MAX_BYTES + 1)).status_code == 413


async def test_a_runner_that_is_not_there_is_a_sentence() -> None:
    assert "does not answer" in str(await Remote("http://127.0.0.1:9", "x" * 64).problem())


class Liar(BaseHTTPRequestHandler):
    """Answers what it was given."""

    status, body, headers_sent = 200, b"", {}  # type: ignore[var-annotated]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        for name, value in {**self.headers_sent, "Content-Length": str(len(self.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def liar() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"{}"),
        (200, json.dumps({**ENDED, "code": "0"}).encode()[:-9]),
        (200, json.dumps({**ENDED, "folder": "*"}).encode()),
        (200, b"[" * 100_000),
        (302, b""),
        (500, b"<html>"),
        (503, b'{"detail": "It is broken."}'),
    ],
)
async def test_answers_that_are_none_are_a_sentence(
    liar: str, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes
) -> None:
    monkeypatch.setattr(Liar, "status", status)
    monkeypatch.setattr(Liar, "body", body)
    monkeypatch.setattr(Liar, "headers_sent", {"Location": "/v1/programs"})
    with pytest.raises(SandboxError, match="runner"):
        await Remote(liar, "x" * 64).run(Program("python", "print(1)"))


async def test_what_a_runner_sends_is_held_to_the_limits(
    liar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {**ENDED, "stdout": "x" * 5_000, "refused": ["y" * 9_000] * 100, "folder": "eHh4eA=="}
    monkeypatch.setattr(Liar, "body", json.dumps(told).encode())
    limits = Limits(output_bytes=1_000)
    ended = await Remote(liar, "x" * 64).run(Program("python", "1", {}, limits))
    assert len(ended.stdout) == 1_000
    assert not ended.files
    assert len(ended.refused) <= 21
    assert max(map(len, ended.refused)) <= wire.MAX_SENTENCE


async def test_a_runner_without_walls_does_not_hold(
    liar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Liar, "body", json.dumps({**ENDED, "code": 1, "stderr": "open: x"}).encode()
    )
    assert "does not work (open: x)" in str(await Remote(liar, "x" * 64).problem())
