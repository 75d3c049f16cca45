"""Addresses of clients: ``X-Forwarded-For`` is believed only from a proxy that is named."""

from __future__ import annotations

import itertools
import secrets
from typing import TYPE_CHECKING

import httpx
import pytest

from heartbit_site.web_server.serve import options
from tests.api.server import WebServer
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace

HEADERS = ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Client-IP", "CF-Connecting-IP"]
PASSWORD = "one-right-word"
RATE = "0.2"  # a second request is refused for five seconds


@pytest.fixture(scope="module")
def alone(database: None) -> Iterator[WebServer]:
    """A server that nobody stands before, though uvicorn's own variable names everybody."""
    with WebServer(HEARTBIT_API_RATE_LIMIT=RATE, FORWARDED_ALLOW_IPS="*") as server:
        yield server


@pytest.fixture(scope="module")
def behind(database: None) -> Iterator[WebServer]:
    """A server behind a proxy, which is this test."""
    with WebServer(HEARTBIT_API_RATE_LIMIT=RATE, HEARTBIT_TRUSTED_PROXIES="127.0.0.0/8") as server:
        yield server


def addresses() -> Iterator[str]:
    """Of a network that nobody else names."""
    begin = f"2001:db8:{secrets.randbelow(2**16):x}"
    return (f"{begin}:{number:x}::7" for number in itertools.count())


def guess(server: WebServer, headers: dict[str, str]) -> int:
    """Ask with a key that nobody has."""
    key = {"Authorization": f"Bearer hb_{secrets.token_hex(5)}_x"}
    return httpx.get(f"{server.url}/api/v1/runs", headers=headers | key).status_code


def fail(server: WebServer, name: str, headers: dict[str, str]) -> int:
    """Log in with a wrong password."""
    with httpx.Client(base_url=server.url, headers=headers) as browser:
        token = browser.get("/login/").cookies["csrftoken"]
        data = {"username": name, "password": "wrong", "csrfmiddlewaretoken": token}
        return browser.post("/login/", data=data).status_code


@pytest.mark.parametrize("header", HEADERS)
def test_given_no_proxy_then_guessers_who_claim_addresses_are_counted_as_one(
    alone: WebServer, header: str
) -> None:
    asked = [guess(alone, {header: address}) for address in itertools.islice(addresses(), 8)]
    assert asked.count(401) <= 1
    assert asked[-1] == 429


def test_given_no_proxy_then_failed_logins_with_claimed_addresses_are_counted_as_one(
    alone: WebServer, workspace: Workspace
) -> None:
    name = member(workspace, password=PASSWORD).username
    claimed = [dict.fromkeys(HEADERS, address) for address in itertools.islice(addresses(), 5)]
    assert [fail(alone, name, headers) for headers in claimed] == [200] * 4 + [429]


def test_given_a_proxy_then_each_client_of_its_is_counted_alone(behind: WebServer) -> None:
    one, other = itertools.islice(addresses(), 2)
    assert guess(behind, {"X-Forwarded-For": one}) == 401
    assert guess(behind, {"X-Forwarded-For": other}) == 401
    assert guess(behind, {"X-Forwarded-For": one}) == 429


def test_given_a_proxy_then_what_a_client_claims_before_it_is_not_believed(
    behind: WebServer, workspace: Workspace
) -> None:
    real, *claimed = itertools.islice(addresses(), 9)
    asked = [guess(behind, {"X-Forwarded-For": f"{said}, {real}"}) for said in claimed]
    assert asked == [401] + [429] * 7
    name = member(workspace, password=PASSWORD).username
    failed = [fail(behind, name, {"X-Forwarded-For": f"{said}, {real}"}) for said in claimed[:5]]
    assert failed == [200] * 4 + [429]


def test_given_an_ipv6_network_then_its_addresses_fail_together(
    behind: WebServer, workspace: Workspace
) -> None:
    name = member(workspace, password=PASSWORD).username
    begin = next(addresses()).removesuffix("7")
    failed = [fail(behind, name, {"X-Forwarded-For": f"{begin}{n}"}) for n in range(1, 6)]
    assert failed == [200] * 4 + [429]


def test_uvicorn_is_always_told_whom_to_believe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    told = options(bind="127.0.0.1", port=0)
    assert (told["proxy_headers"], told["forwarded_allow_ips"]) == (False, [])
