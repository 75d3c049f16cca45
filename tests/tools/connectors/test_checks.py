"""The check of each type of credential."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from heartbit_site.base.credentials import (
    ApiKeyCredential,
    BasicCredential,
    BearerCredential,
    CredentialType,
    ImapCredential,
    OAuthClientCredential,
    QueryKeyCredential,
    SigningCredential,
    SmtpCredential,
)
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tests.base.loopback import Server, response, serving
from tests.inbound.imap_server import imap_server, talking
from tests.tools.connectors.calls import CANARY
from tests.tools.connectors.smtp_server import smtp_server
from tools.connectors import credential_checks as checks
from tools.connectors.credential_checks import check_credential
from tools.connectors.send_email import ResendCredential
from tools.connectors.web_search import BraveCredential, SearxngCredential
from tools.credentials import oauth

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator

    from pytest_django.fixtures import Settings

SECRET = SecretStr(CANARY)


@pytest.fixture(autouse=True)
def reachable(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    oauth._tokens.clear()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


async def said(value: CredentialType) -> str:
    """The sentence of a failed check; empty: it passed."""
    async with GuardedClient(allow=parse_allow("127.0.0.1:*")) as http:
        try:
            await check_credential(value, http)
        except HeartbitError as error:
            text = str(error)
            assert text.endswith(".")
            assert CANARY not in text
            assert "\n" not in text
            return text
    return ""


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
async def test_mail_servers_are_logged_in_to() -> None:
    fields: dict[str, Any] = {"host": "127.0.0.1", "security": "none", "username": "ada"}
    with smtp_server(user="ada", password=CANARY) as server:
        smtp = SmtpCredential(**fields, port=server.port, password=SECRET, sender="ada@example.org")
        assert await said(smtp) == ""
        wrong = smtp.model_copy(update={"password": SecretStr("wrong")})
        assert "rejected the password of ada" in await said(wrong)
        assert "sender" in await said(smtp.model_copy(update={"sender": "nobody"}))
        assert server.envelopes == []
    with imap_server(user="ada", password=CANARY) as mailbox:
        imap = ImapCredential(**fields, port=mailbox.port, password=SECRET)
        assert await said(imap) == ""
        wrong_box = imap.model_copy(update={"password": SecretStr("wrong")})
        assert "rejected the password of ada" in await said(wrong_box)


def http_credentials(url: str) -> list[CredentialType]:
    return [
        BearerCredential(url=url, token=SECRET),
        ApiKeyCredential(url=url, key=SECRET),
        QueryKeyCredential(url=url, key=SECRET),
        BasicCredential(url=url, username="ada", password=SECRET),
    ]


async def test_an_address_is_asked_with_the_credential(server: Server) -> None:
    for value in http_credentials(f"http://127.0.0.1:{server.port}/"):
        target = f"/?api_key={CANARY}" if isinstance(value, QueryKeyCredential) else "/"
        server.answers[target] = response(CANARY.encode(), status="404 Not Found")
        assert await said(value) == ""
        server.answers[target] = response(CANARY.encode(), status="401 Unauthorized")
        assert await said(value) == (
            f"http://127.0.0.1:{server.port}/ refused the credential: 401 Unauthorized."
        )
    assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"


async def test_a_service_that_is_not_there_is_said() -> None:
    async with serving() as server:
        pass
    for value in http_credentials(f"http://127.0.0.1:{server.port}/"):
        assert "be reached" in await said(value)


async def test_a_service_that_never_answers_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECK_SECONDS", 0.2)

    def listen(peer: socket.socket) -> None:
        while peer.recv(4_096):
            pass

    with talking(listen) as port:
        fields: dict[str, Any] = {"host": "127.0.0.1", "security": "none", "username": "ada"}
        imap = ImapCredential(**fields, port=port, password=SECRET)
        smtp = SmtpCredential(**fields, port=port, password=SECRET, sender="ada@example.org")
        for value in (imap, smtp, *http_credentials(f"http://127.0.0.1:{port}/")):
            text = await said(value)
            assert "0.2 seconds" in text or "took too long to answer" in text


async def test_an_oauth_client_gets_a_token(server: Server) -> None:
    base = f"http://127.0.0.1:{server.port}"
    fields: dict[str, Any] = {"url": f"{base}/api", "token_url": f"{base}/token"}
    value = OAuthClientCredential(**fields, client_id="x", client_secret=SECRET)
    server.answers["/token"] = response(b'{"access_token": "a"}')
    assert await said(value) == ""
    server.answers["/token"] = response(b"", status="400 Bad Request")
    assert "returned no access token" in await said(value)


async def test_services_of_the_connectors_are_asked(server: Server) -> None:
    base = f"http://127.0.0.1:{server.port}"
    resend = ResendCredential(url=base, key=SECRET, sender="ada@example.org")
    server.answers["/domains"] = response(b'{"data": []}')
    assert await said(resend) == ""
    restricted = b'{"statusCode":401,"name":"restricted_api_key","message":"only send"}'
    server.answers["/domains"] = response(restricted, status="401 Unauthorized")
    assert await said(resend) == ""
    server.answers["/domains"] = response(b'{"message":"bad key"}', status="401 Unauthorized")
    assert "401 Unauthorized: bad key" in await said(resend)
    server.answers["/web/search?q=heartbit&count=1"] = response(b'{"web": {"results": []}}')
    assert await said(BraveCredential(url=base, key=SECRET)) == ""
    assert "JSON that cannot be read" in await said(SearxngCredential(url=base))


async def test_a_signing_secret_is_looked_at() -> None:
    assert await said(SigningCredential(secret=SecretStr("whsec_c2VjcmV0"))) == ""
    assert "not base64" in await said(SigningCredential(secret=SecretStr("whsec_x")))


class Unchecked(CredentialType):
    """A type of a package, without a kind, so that nothing else knows it."""

    label = "Something else"


async def test_a_type_without_a_check_says_so() -> None:
    assert "There is no check for the type Something else" in await said(Unchecked())
