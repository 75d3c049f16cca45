"""Sending mail: to a real SMTP server, to servers that mean harm, and over Resend's API."""

from __future__ import annotations

import email
import email.policy
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from heartbit_site.base.credentials import SmtpCredential
from tests.base.loopback import response, serving
from tests.inbound.imap_server import make_certificate, talking
from tests.tools.connectors.calls import CANARY, done, refusal
from tests.tools.connectors.smtp_server import Received, smtp_server
from tools.connectors.send_email import ResendCredential
from tools.mail import stream

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_django.fixtures import Settings

    from tools.calls.result import ToolResult

USER, PASSWORD = "robot@example.org", f'{CANARY} "wörd\\'
SENDER = "Heartbit Röbot <robot@example.org>"
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH")  # of aiosmtpd

LETTER: dict[str, Any] = {"to": ["ada@example.org"], "subject": "A mail", "text": "Hello!"}


@pytest.fixture(autouse=True)
def reachable(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"


@pytest.fixture
def server() -> Iterator[Received]:
    with smtp_server(user=USER, password=PASSWORD) as running:
        yield running


def account(port: int, **other: Any) -> SmtpCredential:
    fields = {"security": "none", "username": USER, "password": SecretStr(PASSWORD)}
    fields |= {"host": "127.0.0.1", "sender": SENDER}
    return SmtpCredential(**{**fields, "port": port, **other})


async def sent(port: int, mail: dict[str, Any] | None = None, **other: Any) -> ToolResult:
    arguments = {**LETTER, **(mail or {})}
    return await done("send_email", credentials={"mail": account(port, **other)}, **arguments)


async def told(talk: Callable[[socket.socket], None], **other: Any) -> str:
    with talking(talk) as port:
        said = refusal(await sent(port, **other))
    assert "\\u" not in said
    assert len(said) < 700
    return said


def replies(*answers: bytes) -> Callable[[socket.socket], None]:
    """A talk that answers one command after the other, and hangs up."""

    def talk(peer: socket.socket) -> None:
        with peer.makefile("rb") as lines:
            for answer in answers:
                peer.sendall(answer)
                lines.readline()

    return talk


async def test_a_mail_arrives_with_every_character(server: Received) -> None:
    text = "Grüße 😀\n.\nFrom here\n..dots\n" + "long " * 400
    result = await sent(
        server.port,
        {
            "to": ["Ada Lovelace <ada@example.org>", "b@bücher.example"],
            "cc": ['"Müller, Anna" <anna@example.org>'],
            "bcc": ["secret@example.org"],
            "reply_to": "desk@example.org",
            "subject": "Schöne Grüße 😀",
            "text": text,
            "html": "<p>Grüße</p>",
        },
    )
    assert result.status == "ok", result.content
    (envelope,) = server.envelopes
    assert envelope.mail_from == USER
    recipients = ["ada@example.org", "b@xn--bcher-kva.example", "anna@example.org"]
    assert envelope.rcpt_tos == [*recipients, "secret@example.org"]
    assert b"secret@example.org" not in envelope.content
    assert envelope.content.isascii()
    assert max(map(len, envelope.content.splitlines())) < 998
    mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert mail["from"] == SENDER
    assert [one.addr_spec for one in mail["to"].addresses] == recipients[:2]
    assert mail["cc"].addresses[0].display_name == "Müller, Anna"
    assert (mail["subject"], mail["reply-to"]) == ("Schöne Grüße 😀", "desk@example.org")
    plain = mail.get_body(("plain",))
    rich = mail.get_body(("html",))
    assert plain is not None
    assert rich is not None
    assert plain.get_content().replace("\r\n", "\n") == text + "\n"
    assert rich.get_content().strip() == "<p>Grüße</p>"


async def test_artifacts_of_the_run_are_attached(server: Received) -> None:
    stored = {"1.0-0123abcd-Bücher.pdf": b"%PDF", "report-2.0-89ab": b"\0\r\n", "big": b"x" * 10**7}

    async def mailed(*names: str, stored: dict[str, bytes] | None = stored) -> ToolResult:
        return await done(
            "send_email",
            credentials={"mail": account(server.port)},
            stored=stored,
            artifacts=names,
            **LETTER,
        )

    first, second = list(stored)[:2]
    assert (await mailed(first, second, first)).status == "ok"
    (envelope,) = server.envelopes
    assert envelope.content.isascii()
    mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert [
        (file.get_filename(), file.get_content_type(), file.get_content())
        for file in mail.iter_attachments()
    ] == [
        ("Bücher.pdf", "application/pdf", b"%PDF"),
        ("report-2.0-89ab", "application/octet-stream", b"\0\r\n"),
    ]
    assert "the limit is 10,000,000" in refusal(await mailed(first, "big"))
    assert "No artifact store" in refusal(await mailed(first, stored=None))
    assert len(server.envelopes) == 1


async def test_the_message_id_is_the_same_at_each_attempt(server: Received) -> None:
    for _ in range(2):
        assert (await sent(server.port)).status == "ok"
    first, second = (email.message_from_bytes(one.content) for one in server.envelopes)
    assert first["message-id"] == second["message-id"]
    assert re.fullmatch(r"<[0-9a-f]{32}@example\.org>", first["message-id"])


@pytest.mark.parametrize(
    ("mail", "words"),
    [
        ({"subject": "a\r\nBcc: eve@example.org"}, "one line"),
        ({"subject": "a\nb"}, "one line"),
        ({"to": ["ada@example.org\r\nBcc: eve@example.org"]}, "is not an e-mail address"),
        ({"to": ["ada@example.org>\r\nRCPT TO:<eve@example.org"]}, "is not an e-mail address"),
        ({"cc": ["ada@example.org, eve@example.org"]}, "is not an e-mail address"),
        ({"bcc": ["nobody"]}, "'nobody' is not an e-mail address"),
        ({"reply_to": "x@y\nz"}, "is not an e-mail address"),
        ({"to": [], "cc": ["ada@example.org"]}, "at least one of them in to"),
        ({"to": ["a@example.org"] * 30, "cc": ["b@example.org"] * 21}, "1 to 50 recipients"),
        ({"to": ["gräf@example.org"]}, "is not an e-mail address"),
    ],
)
async def test_a_mail_that_is_not_valid_is_not_sent(
    server: Received, mail: dict[str, Any], words: str
) -> None:
    assert words in refusal(await sent(server.port, mail))
    assert server.envelopes == []


async def test_one_refused_recipient_stops_the_whole_mail(server: Received) -> None:
    server.refused.add("gone@example.org")

    said = refusal(await sent(server.port, {"to": ["ada@example.org", "gone@example.org"]}))

    assert said == (
        "The mail server 127.0.0.1 refuses gone@example.org, so the mail was sent to no one: "
        "550 no such user."
    )
    assert server.envelopes == []


async def test_the_sender_of_the_credential_is_checked(server: Received) -> None:
    assert "correct it" in refusal(await sent(server.port, sender="no address"))


async def test_a_wrong_password_is_said(server: Received) -> None:
    said = refusal(await sent(server.port, password=SecretStr("wrong-4711")))
    assert said.startswith(f"The mail server 127.0.0.1 rejected the password of {USER}")
    assert "535" in said
    assert "4711" not in said


async def test_starttls_wants_a_certificate_that_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path / "server.pem")
    with smtp_server(user=USER, password=PASSWORD, certificate=certificate) as server:
        assert "self-signed certificate" in refusal(await sent(server.port, security="starttls"))

        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert (await sent(server.port, security="starttls")).status == "ok"
        assert len(server.envelopes) == 1


async def test_a_server_without_tls_gets_no_password(server: Received) -> None:
    assert "no STARTTLS" in refusal(await sent(server.port, security="starttls"))
    assert "does not use TLS" in refusal(await sent(server.port, security="tls"))
    assert "Without TLS, the password" in refusal(await sent(587, host="93.184.215.14"))


async def test_words_before_tls_are_not_taken_for_words_within() -> None:
    hello = b"220 here\r\n", b"250-here\r\n250 STARTTLS\r\n"
    injected = b"220 begin\r\n250 AUTH PLAIN\r\n"
    assert "before TLS" in await told(replies(*hello, injected), security="starttls")


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((b"HTTP/1.1 400 Bad Request\r\n",), "returned an invalid response"),
        ((b"554 go away\r\n",), "accepts no mails now: 554 go away."),
        ((b"220 here\r\n",), "closed the connection"),
        ((b"220 here\r\n", b"250 here\r\n"), "offers no login"),
        ((b"220-x\r\n" * 200,), "returned an invalid response"),
        (
            (b"220 here\r\n", b"250-h\r\n250 AUTH PLAIN\r\n", b"334 more\r\n"),
            "requires a further login step",
        ),
        (
            (b"220 h\r\n", b"250-h\r\n250 AUTH PLAIN\r\n", f"535 {PASSWORD}\r\n".encode()),
            "not shown",
        ),
        (
            (b"220 h\r\n", b"250-h\r\n250 AUTH PLAIN\r\n", b"235 in\r\n", b"550 not you\r\n"),
            "refuses the sender robot@example.org: 550 not you.",
        ),
    ],
)
async def test_what_a_server_says_instead_is_told(answers: tuple[bytes, ...], words: str) -> None:
    assert words in await told(replies(*answers))


async def test_a_break_after_the_mail_leaves_its_outcome_open() -> None:
    def talk(peer: socket.socket) -> None:
        with peer.makefile("rb") as lines:
            for answer in (b"220 h\r\n", b"250 h\r\n", b"250 a\r\n", b"250 b\r\n", b"354 go\r\n"):
                peer.sendall(answer)
                lines.readline()
            while lines.readline() not in (b".\r\n", b""):
                pass

    said = await told(talk, username="", password=SecretStr(""))
    assert said.startswith("The mail may or may not have been sent: The mail server 127.0.0.1")


async def test_a_flood_is_not_kept() -> None:
    sent_bytes = 0

    def flood(peer: socket.socket) -> None:
        nonlocal sent_bytes
        while True:
            sent_bytes += peer.send(b"2" * 65_536)

    assert "oversized response" in await told(flood)
    assert sent_bytes < 16_000_000


async def test_a_silent_server_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "READ_SECONDS", 0.2)

    def wait(peer: socket.socket) -> None:
        peer.recv(1)  # until the client has gone

    assert await told(wait) == "The mail server 127.0.0.1 took too long to answer."


def resend(port: int, **other: Any) -> ResendCredential:
    url = f"http://127.0.0.1:{port}"
    return ResendCredential(**{"url": url, "key": SecretStr(CANARY), "sender": SENDER, **other})


async def test_resend_gets_the_mail_and_the_idempotency_key() -> None:
    async with serving() as server:
        server.answers["/emails"] = response(b'{"id": "49a3999c"}')
        result = await done(
            "send_email",
            credentials={"mail": resend(server.port)},
            stored={"a.txt": b"Hi"},
            artifacts=["a.txt"],
            **LETTER,
            cc=["Bo <bo@example.org>"],
        )
    assert result.content == "Sent to ada@example.org, bo@example.org (49a3999c)."
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {CANARY}"
    assert request.headers["idempotency-key"] == "00000000-0000-0000-0000-000000000001:1.0"
    assert json.loads(request.content) == {
        "from": SENDER,
        "to": ["ada@example.org"],
        "cc": ["Bo <bo@example.org>"],
        "subject": "A mail",
        "text": "Hello!",
        "attachments": [{"filename": "a.txt", "content": "SGk="}],
    }


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            response(
                b'{"statusCode":422,"message":"The domain is not verified."}',
                status="422 Unprocessable Entity",
            ),
            "Resend refuses the request: 422 Unprocessable Entity: The domain is not verified.",
        ),
        (
            response(f'{{"message":"bad key {CANARY}"}}'.encode(), status="401 Unauthorized"),
            "Resend refuses the request: 401 Unauthorized: bad key [secret].",
        ),
        (response(b"<html>", status="502 Bad Gateway"), "refuses the request: 502 Bad Gateway."),
        (response(b"<html>"), "returned JSON that cannot be read"),
        (response(b"[]"), "may have been sent"),
        (response(b"", status="302 Found", headers=("Location: /other",)), "302 Found"),
    ],
)
async def test_other_answers_of_resend_become_a_sentence(answer: bytes, words: str) -> None:
    async with serving() as server:
        server.answers["/emails"] = answer
        result = await done("send_email", credentials={"mail": resend(server.port)}, **LETTER)
    assert words in refusal(result)
    assert len(server.requests) == 1


async def test_a_key_that_no_header_carries_is_refused_unsent() -> None:
    async with serving() as server:
        mail = resend(server.port, key=SecretStr(f"{CANARY}\n"))
        assert mail.key.get_secret_value().endswith("\n")
        said = refusal(await done("send_email", credentials={"mail": mail}, **LETTER))
    assert "HTTP" in said
    assert server.requests == []
