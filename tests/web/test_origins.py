"""A page of another port: it shares our cookies, and gets nothing for them (S8)."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from channels.routing import URLRouter
from django.conf import settings

from agents.routing import websocket_urlpatterns
from heartbit_site.api.sockets import Handshake
from tests.web.people import member, session_of
from tests.web.talk import Talk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

TOKEN = "c" * 32
# What a page tries: each ends with a word.
ATTEMPTS = {
    "a socket": (
        "({ours, slug}) => new Promise(done => {"
        " const socket = new WebSocket(`${ours.replace('http', 'ws')}/ws/${slug}/`);"
        " socket.onmessage = () => done('read'); socket.onclose = () => done('refused'); })"
    ),
    "an event stream": (
        "({ours, slug}) => new Promise(done => {"
        " const url = `${ours}/api/v1/runs/00000000-0000-4000-8000-000000000000/events`;"
        " const events = new EventSource(`${url}?workspace=${slug}`, {withCredentials: true});"
        " events.onmessage = () => done('read'); events.onerror = () => done('refused'); })"
    ),
    "a read": (
        "({ours, slug}) => fetch(`${ours}/api/v1/runs?workspace=${slug}`,"
        " {credentials: 'include'}).then(() => 'read', () => 'refused')"
    ),
    "a form with the token, which a cookie is": (
        "async ({ours}) => { const token = document.cookie.split('csrftoken=')[1];"
        " const body = new URLSearchParams({csrfmiddlewaretoken: token});"
        " await fetch(`${ours}/logout/`,"
        " {method: 'POST', mode: 'no-cors', credentials: 'include', body}); return 'refused'; }"
    ),
}


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Another program of this host</title>")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def other_port() -> Iterator[str]:
    """A page of the same host."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_given_a_page_of_another_port_when_it_uses_our_cookies_then_it_gets_nothing(
    site: WebServer, workspace: Workspace, browser: Browser, other_port: str
) -> None:
    session = session_of(member(workspace))
    context = browser.new_context()
    cookies = {settings.SESSION_COOKIE_NAME: session, "csrftoken": TOKEN}
    context.add_cookies(
        [{"name": name, "value": text, "url": site.url} for name, text in cookies.items()]
    )
    page = context.new_page()
    page.goto(other_port)
    given = {"ours": site.url, "slug": workspace.slug}
    for name, attempt in ATTEMPTS.items():
        assert page.evaluate(attempt, given) == "refused", name
    # Our own page may, with the same cookies: so they were sent, and nobody was logged out.
    page.goto(f"{site.url}/api/v1/health")
    for name in ("a socket", "a read"):
        assert page.evaluate(ATTEMPTS[name], given) == "read", name
    context.close()


async def origin_opens(workspace: Workspace, origin: str, **scope: Any) -> bool:
    """Whether a page's socket is accepted, whoever's it is."""
    talk = Talk(f"/ws/{workspace.slug}/", origin=origin, **scope)
    return await talk.open() == "websocket.accept"


@pytest.mark.parametrize(
    ("origin", "scheme", "forwarded", "opens"),
    [
        ("http://localhost", "ws", "", True),
        ("https://localhost", "ws", "", False),
        ("https://localhost", "wss", "", True),
        ("http://localhost", "wss", "", False),
        ("https://localhost", "ws", "https", True),
        ("http://localhost", "ws", "https", False),
        ("https://friend.example:8443", "ws", "", True),
        ("https://friend.example", "ws", "", False),
        ("http://friend.example:8443", "ws", "", False),
    ],
)
async def test_an_origin_is_scheme_host_and_port_as_the_client_sees_them(
    workspace: Workspace,
    settings: Any,
    origin: str,
    scheme: str,
    forwarded: str,
    opens: bool,  # noqa: FBT001
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://friend.example:8443"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if forwarded else None
    more = {"scheme": scheme, "forwarded": forwarded, "serving": fresh()}
    assert await origin_opens(workspace, origin, **more) is opens
    assert not await origin_opens(workspace, origin, **more, host="evil.example")


def fresh() -> Any:
    """The application's sockets under the settings of the test."""
    return Handshake(URLRouter(websocket_urlpatterns))
