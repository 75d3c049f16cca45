"""Clients that stand still are cut off; those that are served are not."""

from __future__ import annotations

import contextlib
import select
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from websockets.sync.client import connect

from agents.models import Agent
from tests.api.raw import Raw, ends_within
from tests.api.server import Caller, WebServer, key_for
from tests.fleet import wait_until
from tests.pace import within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace

SECONDS = 1.0
LATE = 20.0  # on a busy machine
HALVES = {
    "nothing": b"",
    "half a request line": b"GET /api/v1/hea",
    "half a header": b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "an empty line": b"\r\n",
}
WHOLE = b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(scope="module")
def hasty(database: None) -> Iterator[WebServer]:
    """A server that waits for one second."""
    with WebServer(HEARTBIT_REQUEST_SECONDS=str(SECONDS)) as server:
        yield server
        assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("before", [b"", WHOLE], ids=["first", "second"])
def test_given_half_a_request_when_nothing_follows_then_the_connection_ends(
    hasty: WebServer, half: str, before: bytes
) -> None:
    with Raw(hasty) as raw:
        if before:
            raw.say(before)
            assert raw.answer().startswith(b"HTTP/1.1 200 ")
        raw.say(HALVES[half])
        assert ends_within(raw, LATE)


@pytest.mark.paced
@pytest.mark.parametrize("before", [b"", WHOLE], ids=["first", "second"])
def test_given_a_header_that_drips_then_the_connection_ends(
    hasty: WebServer, before: bytes
) -> None:
    with Raw(hasty) as raw:
        if before:
            raw.say(before)
            raw.answer()
        with within(LATE), contextlib.suppress(ConnectionError):
            raw.drip(b"GET / HTTP/1.1\r\nX-Slow: " + b"x" * 2000, every=SECONDS / 20)


def test_given_many_half_open_connections_then_others_are_served_and_all_of_them_end(
    hasty: WebServer,
) -> None:
    with contextlib.ExitStack() as stack:
        halves = [stack.enter_context(Raw(hasty)) for _ in range(50)]
        for raw in halves:
            raw.say(b"GET / HTT")
        assert httpx.get(f"{hasty.url}/api/v1/health").status_code == 200
        assert all(ends_within(raw, LATE) for raw in halves)


@pytest.mark.paced
def test_given_an_early_answer_when_the_body_drips_on_then_the_connection_ends(
    hasty: WebServer,
) -> None:
    with Raw(hasty) as raw:
        raw.head("POST /login/", "Content-Length: 100000000")
        assert b" 413 " in raw.answer()
        with within(LATE), contextlib.suppress(ConnectionError):
            raw.drip(b"x" * 2000, every=SECONDS / 20)


def test_given_answers_that_are_not_read_then_the_connection_ends(hasty: WebServer) -> None:
    asked = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with Raw(hasty, buffer=4096) as raw:
        assert raw.flood(asked * 50, 10**9) < 10**9


def test_given_an_answer_that_takes_longer_then_it_is_waited_for(
    hasty: WebServer, workspace: Workspace
) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    caller = Caller(hasty, key_for(workspace))
    with caller.http:
        run = caller.submit("Nobody works on this.", agent="writer")["id"]
        began = time.monotonic()
        response = caller.get(f"/runs/{run}/result", wait=3)
    assert response.status_code < 300
    assert time.monotonic() - began > 2 * SECONDS


def test_given_a_socket_that_says_nothing_then_it_stays(
    hasty: WebServer, workspace: Workspace
) -> None:
    key = {"Authorization": f"Bearer {key_for(workspace)}"}
    address = f"ws{hasty.url.removeprefix('http')}/ws/{workspace.slug}/"
    with connect(address, additional_headers=key) as socket:
        end = time.monotonic() + 2 * SECONDS
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                socket.recv(timeout=left)
        socket.ping().wait(LATE)


def ended_of(opened: list[Raw]) -> int:
    """How many of them the server has closed."""
    return len(select.select([raw.socket for raw in opened], [], [], 0)[0])


def test_given_more_connections_than_files_allow_then_further_ones_are_closed_at_once(
    database: None,
) -> None:
    with WebServer(files=120) as server, contextlib.ExitStack() as stack:
        # Of many clients, as each may have a quarter of them.
        opened = [
            stack.enter_context(Raw(server, address=f"127.0.1.{number}")) for number in range(1, 71)
        ]
        # Of 120 files half may be connections.
        wait_until(lambda: ended_of(opened) == 10, seconds=LATE, what="ten closed connections")
        for raw in opened:
            raw.socket.close()
        with Raw(server) as raw:
            raw.say(WHOLE)
            assert raw.answer().startswith(b"HTTP/1.1 200 ")
        assert server.log.read_text().count("connections are open") == 1


def test_given_a_client_that_opens_all_it_can_then_it_has_a_quarter_and_others_are_served(
    database: None, workspace: Workspace
) -> None:
    key = {"Authorization": f"Bearer {key_for(workspace)}"}
    with WebServer(files=120) as server, contextlib.ExitStack() as stack:
        # Of 120 files half may be connections, and of these 15 one client's; sockets count, too.
        address = f"ws{server.url.removeprefix('http')}/ws/{workspace.slug}/"
        for _ in range(5):
            stack.enter_context(connect(address, additional_headers=key))
        opened = [stack.enter_context(Raw(server)) for _ in range(20)]
        wait_until(lambda: ended_of(opened) == 10, seconds=LATE, what="ten closed connections")
        with Raw(server, address="127.0.0.2") as other:
            other.say(WHOLE)
            assert other.answer().startswith(b"HTTP/1.1 200 ")
        assert server.log.read_text().count("127.0.0.1 has 15 connections open") == 1
        opened[0].socket.close()

        def is_served() -> bool:
            with Raw(server) as raw, contextlib.suppress(ConnectionError):
                raw.say(WHOLE)
                return raw.answer().startswith(b"HTTP/1.1 200 ")
            return False

        wait_until(is_served, seconds=LATE, what="one more after one has left")


def test_given_a_named_proxy_then_its_connections_are_not_those_of_one_client(
    database: None,
) -> None:
    with (
        WebServer(files=120, HEARTBIT_TRUSTED_PROXIES="127.0.0.0/8") as server,
        contextlib.ExitStack() as stack,
    ):
        opened = [stack.enter_context(Raw(server)) for _ in range(40)]
        for raw in opened:
            raw.say(WHOLE)
            assert raw.answer().startswith(b"HTTP/1.1 200 ")
