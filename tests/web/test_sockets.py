"""The sockets of pages: who is let in and for how long, and that nothing is lost on the way."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
import redis
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from agents import consumers
from agents.actions.cancel_run import cancel_run
from agents.actions.start_run import start_run
from agents.live.member import MemberConsumer
from agents.models import Run
from heartbit_site.asgi import application
from heartbit_site.base import orm
from heartbit_site.base.models import Membership, Workspace
from heartbit_site.cli.everything import parts
from tests.fleet import wait_until
from tests.server_process import ROOT
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.api.server import WebServer
    from tests.fleet import Worker

SCRIPT = (
    '[[delegate: {"agent": "researcher", "task": "[[calls: current_time {}]] [[rounds: 4]]'
    ' [[text: Some **facts**.]] [[stream: 300]] [[chunks: 20]]"},'
    ' {"agent": "writer", "task": "[[text: Prose.]] [[stream: 900]] [[chunks: 30]]"}]]'
    " [[text: All <b>together</b> now.]] [[stream: 1200]] [[chunks: 60]]"
)
WATCHERS = 30
MOST_BYTES = 65536


class Talk:
    """One socket of our application, without a network between."""

    def __init__(self, path: str, cookie: str = "", origin: str = "http://localhost") -> None:
        headers = [(b"origin", origin.encode()), (b"host", b"localhost")]
        if cookie:
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()))
        scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers}
        communicator: Any = ApplicationCommunicator  # asgiref's tests' parts have no types
        self._there: Any = communicator(application, {**scope, "subprotocols": []})

    async def open(self) -> str:
        """What the handshake is answered with."""
        await self._there.send_input({"type": "websocket.connect"})
        return str((await self._there.receive_output(timeout=10))["type"])

    async def say(self, frame: str | bytes) -> None:
        """Send a frame, of text or of bytes."""
        kind = "text" if isinstance(frame, str) else "bytes"
        await self._there.send_input({"type": "websocket.receive", kind: frame})

    async def hears(self) -> dict[str, Any]:
        """The next frame."""
        frame = await self._there.receive_output(timeout=10)
        found: dict[str, Any] = json.loads(frame["text"])
        return found

    async def closed_with(self) -> int:
        """The code with which the server hangs up, whatever it says before."""
        there = self._there
        while (message := await there.receive_output(timeout=10))["type"] != "websocket.close":
            pass
        await there.send_input({"type": "websocket.disconnect", "code": message["code"]})
        await there.wait()
        return int(message["code"])


async def opened(path: str, cookie: str) -> Talk:
    talk = Talk(path, cookie)
    assert await talk.open() == "websocket.accept"
    return talk


def run_path(workspace: Workspace, run: object) -> str:
    return f"/ws/{workspace.slug}/runs/{run}/"


def waiting_run(workspace: Workspace) -> UUID:
    """One that no worker takes."""
    run = start_run(workspace, "Wait.", agent="writer")
    cancel_run(workspace, run, reason="not needed")
    return run


class TestWhoIsLetIn:
    async def test_given_nobody_logged_in_then_the_code_is_4401(self, workspace: Workspace) -> None:
        talk = await opened(f"/ws/{workspace.slug}/", "")
        assert await talk.closed_with() == 4401

    @pytest.mark.parametrize("what", ["workspace", "run", "its own run elsewhere"])
    async def test_given_what_is_not_theirs_then_the_code_is_4404(
        self, workspace: Workspace, what: str
    ) -> None:
        def prepare() -> tuple[str, str]:
            other = Workspace.objects.create(slug=f"o-{uuid4().hex[:8]}", name="Other")
            cookie = session_of(member(workspace))
            run = waiting_run(workspace)
            path = {
                "workspace": f"/ws/{other.slug}/",
                "run": run_path(workspace, uuid4()),
                "its own run elsewhere": run_path(other, run),
            }[what]
            return path, cookie

        path, cookie = await orm.in_thread(prepare)
        assert await (await opened(path, cookie)).closed_with() == 4404

    async def test_given_a_page_of_another_host_then_the_handshake_is_refused(
        self, workspace: Workspace
    ) -> None:
        cookie = await orm.in_thread(lambda: session_of(member(workspace)))
        talk = Talk(f"/ws/{workspace.slug}/", cookie, origin="https://evil.example")
        assert await talk.open() == "websocket.close"

    async def test_given_frames_of_somebody_refused_then_they_are_nothing(
        self, workspace: Workspace
    ) -> None:
        talk = await opened(run_path(workspace, uuid4()), "")
        await talk.say('{"type": "resume", "after": {}}')
        assert await talk.closed_with() == 4401


class TestHowLong:
    @pytest.mark.parametrize("how", ["logs out", "is removed"])
    async def test_given_a_member_who_leaves_then_the_socket_closes(
        self, workspace: Workspace, how: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert MemberConsumer.check_seconds < 5
        monkeypatch.setattr(MemberConsumer, "check_seconds", 0.05)
        user = await orm.in_thread(lambda: member(workspace))
        cookie = await orm.in_thread(lambda: session_of(user))
        talk = await opened(f"/ws/{workspace.slug}/", cookie)
        assert (await talk.hears())["type"] == "pulse"

        def leave() -> None:
            if how == "logs out":
                import_module(settings.SESSION_ENGINE).SessionStore(cookie).delete()
            else:
                Membership.objects.filter(user=user).delete()

        await orm.in_thread(leave)
        assert await talk.closed_with() == 4401

    async def test_given_nothing_asked_then_the_socket_closes(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(consumers, "ASK_SECONDS", 0.05)
        run = await orm.in_thread(lambda: waiting_run(workspace))
        cookie = await orm.in_thread(lambda: session_of(member(workspace)))
        assert await (await opened(run_path(workspace, run), cookie)).closed_with() == 4408


class TestFrames:
    @pytest.mark.parametrize(
        "frame",
        [
            "no JSON",
            "[]",
            "{}",
            "[" * 20_000,
            b"\x00\x01",
            '{"type": "resume", "after": []}',
            '{"type": "resume", "after": {"x": 1}}',
            json.dumps({"type": "resume", "after": {str(uuid4()): -1}}),
            json.dumps({"type": "resume", "after": {str(uuid4()): True}}),
            json.dumps({"type": "resume", "after": {str(uuid4()): 2**31}}),
        ],
        ids=lambda frame: repr(frame)[:40],
    )
    async def test_given_a_frame_that_is_no_request_then_the_code_is_4413(
        self, workspace: Workspace, frame: str | bytes
    ) -> None:
        run = await orm.in_thread(lambda: waiting_run(workspace))
        cookie = await orm.in_thread(lambda: session_of(member(workspace)))
        talk = await opened(run_path(workspace, run), cookie)
        await talk.say(frame)
        assert await talk.closed_with() == 4413

    async def test_given_any_frame_then_the_pulse_hangs_up(self, workspace: Workspace) -> None:
        cookie = await orm.in_thread(lambda: session_of(member(workspace)))
        talk = await opened(f"/ws/{workspace.slug}/", cookie)
        await talk.say('{"type": "resume"}')
        assert await talk.closed_with() == 4413

    async def test_given_more_than_64_kb_then_the_server_as_it_is_shipped_refuses_it(
        self, workspace: Workspace, shipped: str
    ) -> None:
        run = await orm.in_thread(lambda: waiting_run(workspace))
        cookie = await orm.in_thread(lambda: session_of(member(workspace)))
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}", "Origin": shipped}
        address = shipped.replace("http", "ws") + run_path(workspace, run)
        async with connect(address, additional_headers=headers) as opening:
            await opening.send("x" * (MOST_BYTES + 1))
            with pytest.raises(ConnectionClosed) as refused:
                await opening.recv()
        assert refused.value.rcvd is not None
        assert refused.value.rcvd.code == 1009


@pytest.fixture
def shipped(database: None) -> Iterator[str]:
    """The web process as ``heartbit up`` starts it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    web = next(
        part for part in parts(port=port, bind="127.0.0.1", concurrency=1) if part.name == "web"
    )
    process = subprocess.Popen([sys.executable, "-m", web.module, *web.arguments], cwd=ROOT)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(url, process), seconds=40, what="the web process answers")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=15)


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None
    try:
        return httpx.get(f"{url}/login/").status_code == 200
    except httpx.TransportError:
        return False


class Reader:
    """A page: it keeps what it was sent, and says so when it opens its socket again."""

    def __init__(self, workspace: Workspace, run: UUID, cookie: str) -> None:
        self.path = run_path(workspace, run)
        self.cookie = cookie
        self.lines: list[dict[str, Any]] = []
        self.sockets = 0

    @property
    def after(self) -> dict[str, int]:
        return {line["run"]: line["seq"] for line in self.lines if line["type"] == "event"}

    def seqs(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for line in self.lines:
            if line["type"] == "event":
                found.setdefault(line["run"], []).append(line["seq"])
        return found

    async def read(self, url: str, *, drops: random.Random | None = None, pause: float = 0) -> None:
        """Until the server says that all has ended; with ``drops`` cut off now and then."""
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={self.cookie}", "Origin": url}
        while True:
            address = url.replace("http", "ws") + self.path
            async with connect(address, additional_headers=headers) as opening:
                self.sockets += 1
                await opening.send(json.dumps({"type": "resume", "after": self.after}))
                async for frame in opening:
                    data = json.loads(frame)
                    if data["type"] == "end":
                        return
                    self.lines += data["lines"]
                    await asyncio.sleep(pause)
                    if drops is not None and (self.sockets == 1 or drops.random() < 0.2):
                        opening.transport.abort()
                        break


async def reader_of(workspace: Workspace, run: UUID) -> Reader:
    return Reader(workspace, run, await orm.in_thread(lambda: session_of(member(workspace))))


async def test_given_an_ended_run_when_resumed_from_any_event_then_the_rest_comes_once(
    site: WebServer, worker: Worker, workspace: Workspace
) -> None:
    run = await orm.in_thread(lambda: start_run(workspace, SCRIPT, agent="orchestrator"))
    whole = await reader_of(workspace, run)
    await whole.read(site.url)
    events = [line for line in whole.lines if line["type"] == "event"]
    assert {line["event"] for line in events} >= {"run.created", "model.answered", "run.succeeded"}
    for known in (0, 1, len(events) // 2, len(events) - 1):
        late = await reader_of(workspace, run)
        late.lines = events[:known]
        await late.read(site.url)
        assert late.seqs() == whole.seqs()
        assert not [line for line in late.lines if line["type"] == "delta"], "what is answered"


async def test_given_answers_of_models_then_lines_have_them_as_sanitised_html(
    site: WebServer, worker: Worker, workspace: Workspace
) -> None:
    task = "[[text: **Hi** <script>alert(1)</script> [x](javascript:alert(1))]]"
    run = await orm.in_thread(lambda: start_run(workspace, task, agent="writer"))
    reader = await reader_of(workspace, run)
    await reader.read(site.url)
    html = {line["event"]: line["html"] for line in reader.lines if "html" in line}
    assert set(html) == {"model.answered", "run.succeeded"}
    for one in html.values():
        assert "<strong>Hi</strong>" in one
        assert "<script" not in one
        assert "href=" not in one


async def test_given_sockets_dropped_at_random_and_a_flushed_valkey_then_nothing_is_lost_or_twice(
    site: WebServer, worker: Worker, workspace: Workspace
) -> None:
    """R17, small; the runs stream while all of it happens."""
    run = await orm.in_thread(lambda: start_run(workspace, SCRIPT, agent="orchestrator"))
    readers = [await reader_of(workspace, run) for _ in range(WATCHERS)]

    async def flush() -> None:
        while not any(line["type"] == "delta" for line in readers[0].lines):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(redis.Redis.from_url(settings.REDIS_URL).flushall)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(flush())
        for number, reader in enumerate(readers):
            slow = 0.2 if number == 0 else 0
            drops = random.Random(number)  # noqa: S311  the same at every run
            group.create_task(reader.read(site.url, drops=drops, pause=slow))

    def recorded() -> dict[str, list[int]]:
        rows = Run.objects.filter(root_id=run).values_list("pk", "last_seq")
        return {str(pk): list(range(1, last + 1)) for pk, last in rows}

    expected = await orm.in_thread(recorded)
    assert len(expected) == 3
    for reader in readers:
        assert reader.sockets > 1, "it was cut off"
        assert reader.seqs() == expected
