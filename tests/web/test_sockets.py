"""The sockets of pages: who is let in and for how long, and that nothing is lost on the way."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.conf import settings
from django.urls import path as place
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from agents import consumers
from agents.live.member_consumer import MemberConsumer
from heartbit_site.base import orm
from heartbit_site.base.models import Membership, Workspace
from heartbit_site.cli.serving.all_in_one import parts
from tests.fleet import wait_until
from tests.prepared import HEARTBIT
from tests.server_process import ROOT
from tests.web.people import member, session_of
from tests.web.talk import Talk, opened, run_path, waiting_run

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 65536
ANY_RUN = "01a20000-0000-7000-8000-000000000000"


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

        path, cookie = await orm.run_in_thread(prepare)
        assert await (await opened(path, cookie)).closed_with() == 4404

    async def test_given_a_page_of_another_host_then_the_handshake_is_refused(
        self, workspace: Workspace
    ) -> None:
        cookie = await orm.run_in_thread(lambda: session_of(member(workspace)))
        talk = Talk(f"/ws/{workspace.slug}/", cookie, origin="https://evil.example")
        assert await talk.open() == "websocket.close"

    @pytest.mark.parametrize("authorization", ["", "Bearer hb_nobody"])
    @pytest.mark.parametrize("path", ["/", "/nowhere/", "/ws/a/b/c/", "/ws/%2e%2e/\n"])
    async def test_given_an_unknown_path_then_the_handshake_is_refused(
        self, path: str, authorization: str
    ) -> None:
        talk = Talk(path, authorization=authorization)
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
        user = await orm.run_in_thread(lambda: member(workspace))
        cookie = await orm.run_in_thread(lambda: session_of(user))
        talk = await opened(f"/ws/{workspace.slug}/", cookie)
        assert (await talk.hears())["type"] == "pulse"

        def leave() -> None:
            if how == "logs out":
                import_module(settings.SESSION_ENGINE).SessionStore(cookie).delete()
            else:
                Membership.objects.filter(user=user).delete()

        await orm.run_in_thread(leave)
        assert await talk.closed_with() == 4401

    async def test_given_nothing_asked_then_the_socket_closes(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(consumers, "ASK_SECONDS", 0.05)
        run = await orm.run_in_thread(lambda: waiting_run(workspace))
        cookie = await orm.run_in_thread(lambda: session_of(member(workspace)))
        assert await (await opened(run_path(workspace, run), cookie)).closed_with() == 4408


class Listener(MemberConsumer):
    """A socket to which a page may say something again and again."""

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        await self.send_json({"type": "heard"})


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
            json.dumps({"type": "resume", "after": {ANY_RUN: -1}}),
            json.dumps({"type": "resume", "after": {ANY_RUN: True}}),
            json.dumps({"type": "resume", "after": {ANY_RUN: 2**31}}),
        ],
        ids=lambda frame: repr(frame)[:40],
    )
    async def test_given_a_frame_that_is_no_request_then_the_code_is_4413(
        self, workspace: Workspace, frame: str | bytes
    ) -> None:
        run = await orm.run_in_thread(lambda: waiting_run(workspace))
        cookie = await orm.run_in_thread(lambda: session_of(member(workspace)))
        talk = await opened(run_path(workspace, run), cookie)
        await talk.say(frame)
        assert await talk.closed_with() == 4413

    async def test_given_any_frame_then_the_pulse_hangs_up(self, workspace: Workspace) -> None:
        cookie = await orm.run_in_thread(lambda: session_of(member(workspace)))
        talk = await opened(f"/ws/{workspace.slug}/", cookie)
        await talk.say('{"type": "resume"}')
        assert await talk.closed_with() == 4413

    async def test_given_more_frames_than_a_second_allows_then_the_code_is_4429(
        self, workspace: Workspace
    ) -> None:
        cookie = await orm.run_in_thread(lambda: session_of(member(workspace)))
        listening: Any = Listener.as_asgi()  # Django's types know HTTP alone
        address: Any = place("ws/<slug:workspace>/", listening)
        serving = AuthMiddlewareStack(URLRouter([address]))
        talk = await opened(f"/ws/{workspace.slug}/", cookie, serving)
        for _ in range(20):
            await talk.say("{}")
        assert [await talk.hears() for _ in range(20)] == [{"type": "heard"}] * 20
        for _ in range(200):
            await talk.say("{}")
        assert await talk.closed_with() == 4429

    async def test_given_more_than_64_kb_then_the_server_as_it_is_shipped_refuses_it(
        self, workspace: Workspace, shipped: str
    ) -> None:
        run = await orm.run_in_thread(lambda: waiting_run(workspace))
        cookie = await orm.run_in_thread(lambda: session_of(member(workspace)))
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
    every = parts(port=port, bind="127.0.0.1", concurrency=1, queues="agents")
    web = next(part for part in every if part.name == "web")
    process = subprocess.Popen([sys.executable, "-m", HEARTBIT, *web.arguments], cwd=ROOT)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(url, process), seconds=40, what="the web process answers")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=90)


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None
    try:
        return httpx.get(f"{url}/login/").status_code == 200
    except httpx.TransportError:
        return False
