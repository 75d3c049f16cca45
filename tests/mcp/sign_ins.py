"""The server that people sign in to, as a process, and a browser that goes there and comes back."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import httpx
from django.test import Client

from tests.fleet import wait_until
from tests.mcp.servers import HERE, listens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User

HOST = "127.0.0.1"
#: What ``HEARTBIT_PUBLIC_URL`` has to be for these browsers.
PUBLIC_URL = f"http://{HOST}"
CALLBACK = "/oauth/callback/"


@dataclass
class Vault:
    """The server with its authorization server."""

    root: str

    @property
    def url(self) -> str:
        return f"{self.root}/mcp"

    def counts(self) -> dict[str, int]:
        found: dict[str, int] = httpx.get(f"{self.root}/counts").json()
        return found

    def post(self, path: str) -> None:
        httpx.post(f"{self.root}/{path}").raise_for_status()


@contextmanager
def vault() -> Iterator[Vault]:
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(HERE / "oauth_server.py"), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: listens(port), seconds=60, what="the server that people sign in to")
        yield Vault(f"http://{HOST}:{port}")
    finally:
        process.kill()
        process.wait()


def browser(user: User) -> Client:
    client = Client(headers={"host": HOST})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def begun(client: Client, page: str, **form: str) -> str:
    """Press Connect; the link to the authorization server."""
    answer = client.post(page, {"do": "connect", "for": "me", **form})
    text = answer.content.decode()
    assert answer.status_code == 200, text
    [link] = re.findall(r'class="button primary" href="([^"]+)"', text)
    return str(link).replace("&amp;", "&")


def sent_back(link: str) -> dict[str, str]:
    """Sign in there; the parameters that the browser comes back with."""
    answer = httpx.get(link)
    assert answer.status_code == 302, answer.text
    place = urlsplit(answer.headers["location"])
    assert f"{place.scheme}://{place.netloc}{place.path}" == f"{PUBLIC_URL}{CALLBACK}"
    return dict(parse_qsl(place.query))


def connected_as(user: User, page: str, **form: str) -> Any:
    """Connect; the answer to coming back."""
    client = browser(user)
    answer = client.get(CALLBACK, sent_back(begun(client, page, **form)))
    shown = client.get(page).content.decode()
    assert 'class="problem"' not in shown, shown
    return answer
