"""S1: no connector reaches an internal address, whatever names it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from heartbit_site.base.credentials import (
    BearerCredential,
    CredentialType,
    ImapCredential,
    OAuthClientCredential,
    SmtpCredential,
)
from tests.base.loopback import Server, redirect, serving
from tests.base.test_http_guard import HOSTS, NAMES
from tests.tools.connectors.calls import CANARY, done
from tools.connectors.send_email import ResendCredential
from tools.connectors.web_search import BraveCredential, SearxngCredential
from tools.mail import server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pytest_django.fixtures import Settings

SECRET = SecretStr(CANARY)
LETTER: dict[str, Any] = {"to": ["ada@example.org"], "subject": "x", "text": "x"}
NAMED = [name for name in NAMES if name != "public.example"]


@pytest.fixture
async def internal() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def resolved(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Names of the vectors resolve; nothing is allowed."""
    settings.HEARTBIT_HTTP_ALLOWLIST = ""
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if name.lower() not in NAMES:
            return real(host, port, *rest, **more)
        family = {True: socket.AF_INET6, False: socket.AF_INET}
        return [
            (family[":" in one], socket.SOCK_STREAM, 6, "", (one, port))
            for one in NAMES[name.lower()]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@pytest.mark.parametrize("tool", ["send_email", "search_email", "read_email"])
async def test_no_mail_host_leads_within(
    internal: Server, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For which the port is no obstacle: what stops the connection is the address alone."""
    monkeypatch.setattr("tools.mail.imap.IMAP_PORTS", frozenset({internal.port}))
    monkeypatch.setattr("tools.mail.smtp.SMTP_PORTS", frozenset({internal.port}))
    for host in [*HOSTS, *NAMED]:
        fields: dict[str, Any] = {"host": host.strip("[]"), "port": internal.port}
        fields |= {"username": "ada", "password": SECRET, "security": "tls"}
        arguments: dict[str, Any] = {}
        value: CredentialType
        if tool == "send_email":
            value, arguments = SmtpCredential(**fields, sender="ada@example.org"), LETTER
            parameter = "mail"
        else:
            value, parameter = ImapCredential(**fields), "mailbox"
            arguments = {"id": "1-1"} if tool == "read_email" else {}
        result = await done(tool, allow="", credentials={parameter: value}, **arguments)
        assert result.status == "error", host
        blocked = ("not on the public internet", "has no address", "cannot be reached: ")
        assert any(words in result.content for words in blocked), (host, result.content)
    assert internal.connections == 0


async def test_no_port_of_another_service_is_open_to_mail(settings: Settings) -> None:
    assert not (server.SMTP_PORTS | server.IMAP_PORTS) & {22, 80, 443, 5432, 6379}
    for port in (22, 80, 6379):
        value = SmtpCredential(host="93.184.215.14", port=port, sender="ada@example.org")
        result = await done("send_email", allow="", credentials={"mail": value}, **LETTER)
        assert f"Port {port} of 93.184.215.14 is closed" in result.content


def web_calls(url: str) -> list[tuple[str, dict[str, CredentialType], dict[str, Any]]]:
    """Each connector with an address of ours in each of its places."""
    oauth = OAuthClientCredential(
        url=url, token_url=f"{url}/token", client_id="x", client_secret=SECRET
    )
    post = {"method": "POST", "url": f"{url}/x"}
    return [
        ("web_fetch", {}, {"url": url}),
        ("webhook", {}, post),
        ("webhook", {"target": BearerCredential(url=url, token=SECRET)}, post),
        ("webhook", {"target": oauth}, post),
        ("web_search", {"engine": BraveCredential(url=url, key=SECRET)}, {"query": "x"}),
        ("web_search", {"engine": SearxngCredential(url=url)}, {"query": "x"}),
        (
            "send_email",
            {"mail": ResendCredential(url=url, key=SECRET, sender="ada@example.org")},
            LETTER,
        ),
    ]


async def test_no_url_leads_within(internal: Server) -> None:
    tried = 0
    for host in [*HOSTS, *NAMED]:
        if not host.isascii():
            continue  # a credential's URL is ASCII; of a model's URLs tests.base has the others
        for tool, credentials, arguments in web_calls(f"http://{host}:{internal.port}"):
            result = await done(
                tool, allow="", port=internal.port, credentials=credentials, **arguments
            )
            assert result.status == "error", (tool, host, result.content)
            tried += 1
    assert tried > 300
    assert internal.connections == 0


async def test_a_redirect_does_not_lead_within(internal: Server) -> None:
    async with serving() as public:
        for path in ("/", "/page"):
            public.answers[path] = redirect(f"http://127.0.0.2:{internal.port}/")
        url = f"http://127.0.0.1:{public.port}/page"
        result = await done("web_fetch", allow=f"127.0.0.1:{public.port}", url=url)
        assert result.status == "error"
        assert result.content.startswith("BlockedAddressError")
    assert internal.connections == 0
