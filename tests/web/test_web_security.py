"""What a hostile page, host or guesser gets: nothing (S8)."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from heartbit_site.base.models import Membership, Role, Workspace
from tests.pace import in_time
from tests.server_process import ROOT
from tests.web.matrix_routes import ROUTES, Route
from tests.web.people import member, person, session_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.api.server import WebServer

TOKEN = "c" * 32
PASSWORD = "one-right-word"
FOREIGN = "https://evil.example"


@pytest.fixture(scope="module")
def root(site: WebServer) -> Iterator[httpx.Client]:
    """A superuser's browser, with the CSRF cookie."""
    cookies = {"sessionid": session_of(person(operator=True)), "csrftoken": TOKEN}
    with httpx.Client(base_url=site.url, cookies=cookies) as found:
        yield found


# Where no session counts, none can be abused.
WRITES = [route for route in ROUTES if route.method != "GET" and route.scope is not None]


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.path}")
def test_given_a_session_without_the_token_then_no_route_writes(
    root: httpx.Client, workspace: Workspace, route: Route
) -> None:
    path = "/api/v1" + route.path.replace("{", "").replace("}", "")
    for token in ({}, {"X-CSRFToken": "d" * 32}):
        headers = {"Heartbit-Workspace": workspace.slug, **token}
        response = root.request(route.method, path, headers=headers, json=route.body)
        assert (response.status_code, response.json()["code"]) == (403, "forbidden")
        assert "CSRF" in response.json()["detail"]


@pytest.mark.parametrize(
    "path", ["/login/", "/logout/", "/admin/login/", "/admin/logout/", "/admin/base/workspace/add/"]
)
def test_given_a_form_without_the_token_then_it_is_refused(root: httpx.Client, path: str) -> None:
    data = {"username": "x", "password": "y", "slug": "forged", "name": "forged"}
    assert root.post(path, data=data).status_code == 403
    assert root.get("/admin/").status_code == 200, "still logged in"
    assert not Workspace.objects.filter(slug="forged").exists()


def test_given_a_key_then_no_token_is_asked_for(site: WebServer, workspace: Workspace) -> None:
    headers = {"Authorization": "Bearer hb_0123456789_x"}
    assert httpx.post(f"{site.url}/api/v1/runs", headers=headers, json={}).status_code == 401


def login(site: WebServer, name: str, password: str) -> httpx.Response:
    with httpx.Client(base_url=site.url) as browser:
        token = browser.get("/login/").cookies["csrftoken"]
        data = {"username": name, "password": password, "csrfmiddlewaretoken": token}
        return browser.post("/login/", data=data)


def test_given_five_failures_then_even_the_right_password_waits(
    site: WebServer, workspace: Workspace
) -> None:
    ada, bob = (member(workspace, password=PASSWORD) for _ in range(2))
    for _ in range(4):
        assert login(site, ada.username, "wrong").status_code == 200
    assert login(site, ada.username, "wrong").status_code == 429
    refused = login(site, ada.username, PASSWORD)
    assert refused.status_code == 429
    assert "sessionid" not in refused.cookies
    assert login(site, bob.username, PASSWORD).status_code == 302, "somebody else is not locked out"


def test_given_a_login_then_the_cookie_is_kept_from_scripts_and_other_sites(
    site: WebServer, workspace: Workspace
) -> None:
    answer = login(site, member(workspace, password=PASSWORD).username, PASSWORD)
    (cookie,) = [
        row for row in answer.headers.get_list("set-cookie") if row.startswith("sessionid")
    ]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


@pytest.mark.parametrize(
    ("proxies", "header"),
    [("", "('HTTP_X_FORWARDED_PROTO', 'https')"), ("10.0.0.7", "None")],
)
def test_given_https_then_cookies_are_sent_over_it_alone(proxies: str, header: str) -> None:
    program = (
        "from django.conf import settings as s; "
        "print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_PROXY_SSL_HEADER)"
    )
    environment = {**os.environ, "HEARTBIT_HTTPS": "1", "HEARTBIT_TRUSTED_PROXIES": proxies}
    command = [sys.executable, "-c", program]
    said = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == f"True True {header}"


@pytest.mark.parametrize("path", ["/login/", "/admin/login/", "/api/v1/health", "/api/v1/docs"])
def test_given_a_host_that_is_not_ours_then_nothing_is_said(site: WebServer, path: str) -> None:
    response = httpx.get(site.url + path, headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert "evil.example" not in response.text


def test_given_a_page_then_its_policy_allows_no_inline_script(site: WebServer) -> None:
    headers = httpx.get(f"{site.url}/login/").headers
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")


# --- Sockets -----------------------------------------------------------------------------------


def open_socket(
    site: WebServer, slug: str, session: str, *, origin: str | None = ""
) -> ClientConnection:
    where: Any = site.url if origin == "" else origin
    address = f"ws{site.url.removeprefix('http')}/ws/{slug}/"
    headers = {"Cookie": f"sessionid={session}"}
    return connect(address, origin=where, additional_headers=headers)


STRANGE = {
    "another site": FOREIGN,
    "no site": "null",
    "a longer host": "http://127.0.0.1.evil.example",
    "no page": None,
    "another port": "http://127.0.0.1:1",
    "no port": "http://127.0.0.1",
    "another scheme": "https://127.0.0.1:{port}",
    "another name of the host": "http://localhost:{port}",
    "a path": "http://127.0.0.1:{port}/",
}


@pytest.mark.parametrize("name", STRANGE)
def test_given_another_site_s_page_then_it_gets_no_socket(
    site: WebServer, workspace: Workspace, name: str
) -> None:
    origin = STRANGE[name]
    if origin is not None:
        origin = origin.format(port=httpx.URL(site.url).port)
    session = session_of(member(workspace))
    with pytest.raises(InvalidStatus) as refused:
        open_socket(site, workspace.slug, session, origin=origin)
    assert refused.value.response.status_code == 403


def test_given_a_frame_of_1_mb_then_the_socket_ends(site: WebServer, workspace: Workspace) -> None:
    with open_socket(site, workspace.slug, session_of(member(workspace))) as socket:
        socket.recv(timeout=20)
        with pytest.raises(ConnectionClosed):
            socket.send("x" * 1_000_000)
            while True:
                socket.recv(timeout=20)
        assert socket.close_code == 1009


@pytest.mark.paced
def test_given_a_logout_or_a_lost_membership_then_sockets_end_within_five_seconds(
    site: WebServer, workspace: Workspace
) -> None:
    leaving, removed = member(workspace), member(workspace, Role.OPERATOR)
    sessions = [session_of(user) for user in (leaving, removed)]
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(open_socket(site, workspace.slug, session)) for session in sessions
        ]
        for socket in sockets:
            assert json.loads(socket.recv(timeout=20))["type"] == "pulse"
        cookies = {"sessionid": sessions[0], "csrftoken": TOKEN}
        headers = {"X-CSRFToken": TOKEN}
        left = httpx.post(f"{site.url}/logout/", cookies=cookies, headers=headers)
        assert left.status_code == 302
        Membership.objects.filter(user=removed).delete()
        began = time.monotonic()
        for socket in sockets:
            with pytest.raises(ConnectionClosed):
                while True:
                    socket.recv(timeout=20)
            assert socket.close_code == 4401
    in_time(time.monotonic() - began, 6)  # 5, and what a busy machine takes


def test_given_a_new_login_then_the_session_has_another_name(
    site: WebServer, workspace: Workspace
) -> None:
    user = member(workspace, password=PASSWORD)
    planted = secrets.token_hex(16)
    with httpx.Client(base_url=site.url, cookies={"sessionid": planted}) as browser:
        token = browser.get("/login/").cookies["csrftoken"]
        data = {"username": user.username, "password": PASSWORD, "csrfmiddlewaretoken": token}
        answer = browser.post("/login/", data=data)
    assert answer.status_code == 302
    assert answer.cookies["sessionid"] != planted
