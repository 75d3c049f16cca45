"""Whoever asks too often is told when to ask again; nobody else notices."""

from __future__ import annotations

import secrets
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
from django.conf import settings
from redis import Redis

from heartbit_site.api.errors import TooManyRequestsError
from heartbit_site.api.rate_limit import BURST_SECONDS, RateLimiter, bucket_key
from heartbit_site.remote.client import send
from heartbit_site.remote.server import Server
from tests.api.server import Caller, WebServer, key_for
from tests.pace import Late, in_time
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace

RATE = 5
BURST = int(RATE * BURST_SECONDS)


@contextmanager
def serving(**variables: str) -> Iterator[WebServer]:
    """A web process whose settings are not this process's, and that nobody has asked yet."""
    forget_requests()
    server = WebServer()
    with pytest.MonkeyPatch.context() as environment:
        for name, value in variables.items():
            environment.setenv(name, value)
        server.__enter__()
    try:
        yield server
    finally:
        server.__exit__(None, None, None)
        forget_requests()


def forget_requests() -> None:
    """Fill the bucket of this machine's address, which all servers of the tests share."""
    with Redis.from_url(settings.REDIS_URL) as valkey:
        valkey.delete(f"heartbit:api:{bucket_key('127.0.0.1')}")


@pytest.fixture(scope="module")
def limited(database: None) -> Iterator[WebServer]:
    """It takes five requests a second of each who asks, twenty at once."""
    with serving(HEARTBIT_API_RATE_LIMIT=str(RATE)) as server:
        yield server


def until_refused(ask: Callable[[], httpx.Response]) -> tuple[int, httpx.Response]:
    """Ask until the rate limit refuses; return how many were let in, and the refusal.

    Raises:
        Late: None was refused, and they were sent no faster than ``RATE`` lets in.
    """
    began = time.monotonic()
    for count in range(20 * BURST):
        response = ask()
        if response.status_code == 429:
            return count, response
    in_time(time.monotonic() - began, 19 * BURST / RATE)
    raise AssertionError("none was refused")


def assert_limited(server: WebServer) -> None:
    """Look into the log: while Valkey does not answer in time, nobody is refused.

    Raises:
        Late: It did not.
    """
    if "requests to the API are not limited" in server.log.read_text():
        raise Late("Valkey answered too late for the limit")


def page_of(server: WebServer, workspace: Workspace, user: User) -> httpx.Client:
    """What a page of somebody asks with, in a session of its own."""
    return httpx.Client(
        base_url=f"{server.url}/api/v1",
        cookies={settings.SESSION_COOKIE_NAME: session_of(user)},
        headers={"Heartbit-Workspace": workspace.slug},
        trust_env=False,
    )


def test_given_too_many_requests_of_a_key_then_they_are_refused_for_as_long_as_it_says(
    limited: WebServer, workspace: Workspace
) -> None:
    busy, other = (Caller(limited, key_for(workspace)) for _ in range(2))
    with busy.http, other.http:
        began = time.monotonic()
        let_in, refused = until_refused(lambda: busy.get("/me"))
        seconds = time.monotonic() - began
        assert BURST <= let_in <= BURST + RATE * seconds + 1
        assert other.get("/me").status_code == 200
        assert refused.headers["content-type"] == "application/problem+json"
        problem = refused.json()
        assert (problem["status"], problem["code"]) == (429, "too_many_requests")
        assert problem["detail"] == "You send more than 5 requests per second: try again in 1 s."
        assert refused.headers["retry-after"] == "1"
        time.sleep(1)
        assert busy.get("/me").status_code == 200


def test_given_too_many_requests_then_a_command_waits_and_asks_again(
    limited: WebServer, workspace: Workspace
) -> None:
    busy = Caller(limited, key_for(workspace))
    with busy.http:
        until_refused(lambda: busy.get("/me"))
    server = Server(limited.url, busy.key)
    began = time.monotonic()
    for _ in range(RATE + 1):
        assert send(server, "GET", "/me", query={})["workspace"]["slug"] == workspace.slug
    assert time.monotonic() - began > 1


@pytest.mark.paced
def test_given_a_person_with_two_sessions_then_their_requests_are_counted_together(
    limited: WebServer, workspace: Workspace
) -> None:
    ada, bob = member(workspace), member(workspace)
    with (
        page_of(limited, workspace, ada) as first,
        page_of(limited, workspace, ada) as second,
        page_of(limited, workspace, bob) as other,
    ):
        until_refused(lambda: first.get("/me"))
        began = time.monotonic()
        let_in, _ = until_refused(lambda: second.get("/me"))
        assert let_in <= RATE * (time.monotonic() - began) + 2, "no burst of its own"
        assert other.get("/me").status_code == 200


def test_given_requests_of_nobody_known_then_their_address_is_refused_and_keys_are_not(
    limited: WebServer, workspace: Workspace
) -> None:
    wrong = Caller(limited, f"hb_{'0' * 10}_{'A' * 43}")
    answers: list[httpx.Response] = []

    def ask() -> httpx.Response:
        answers.append(wrong.get("/runs"))
        return answers[-1]

    with wrong.http, Caller(limited, key_for(workspace)).http as right:
        count, refused = until_refused(ask)
        assert count >= BURST
        assert {answer.status_code for answer in answers} == {401, 429}
        assert refused.headers["retry-after"] == "1"
        assert right.get("/runs").status_code == 200
        with httpx.Client(base_url=f"{limited.url}/api/v1", trust_env=False) as nobody:
            until_refused(lambda: nobody.get("/runs"))
            for _ in range(2 * BURST):
                for open_to_all in ("/health", "/openapi.json"):
                    assert nobody.get(open_to_all).status_code == 200


def test_given_no_valkey_then_everybody_is_let_in_and_one_warning_is_logged(
    database: None, workspace: Workspace
) -> None:
    with (
        serving(HEARTBIT_API_RATE_LIMIT=str(RATE), REDIS_URL="redis://127.0.0.1:1/0") as server,
        Caller(server, key_for(workspace)).http as http,
    ):
        assert {http.get("/me").status_code for _ in range(2 * BURST)} == {200}
        log = server.log.read_text()
    assert log.count("Valkey is down, so requests to the API are not limited") == 1
    assert "Traceback" not in log


@pytest.mark.paced
def test_given_a_valkey_that_says_nothing_then_a_request_waits_once_and_not_for_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        buckets = RateLimiter(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", RATE)
        began = time.monotonic()
        for _ in range(50):
            buckets.take("somebody")
        in_time(time.monotonic() - began, 2)


def test_given_a_slow_rate_then_the_wait_is_the_one_that_is_left(database: None) -> None:
    buckets, who = RateLimiter(settings.REDIS_URL, 0.01), secrets.token_hex(8)
    began = time.monotonic()
    buckets.take(who)
    with pytest.raises(TooManyRequestsError) as refused:
        buckets.take(who)
    gone = time.monotonic() - began
    assert 98 - gone <= refused.value.seconds <= 100


def test_given_no_limit_then_valkey_is_not_asked() -> None:
    nowhere = RateLimiter("redis://127.0.0.1:1/0", 0)
    for _ in range(3):
        nowhere.take("somebody")
