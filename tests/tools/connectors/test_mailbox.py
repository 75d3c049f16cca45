"""Searching and reading a mailbox of a real server, and hostile mails in it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from heartbit_site.base.credentials import ImapCredential
from tests.inbound.imap_server import GOOD, ImapServer, imap_server, script, talking
from tests.pace import in_time
from tests.tools.connectors.calls import CANARY, done, refusal
from tools.mail.imap import folder_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from tools.calls.result import ToolResult

USER, PASSWORD = "support@example.org", f'{CANARY} "wörd\\'
ADA = (
    "From: Ada Lovelace <ada@example.org>\r\nTo: Support <support@example.org>, b@example.org\r\n"
    "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nDate: Thu, 26 Nov 2026 09:30:00 +0100\r\n"
    "Reply-To: desk@example.org\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n\r\nThe engine wörks.\r\n"
).encode()
BO = (
    b"From: bo@example.org\r\nSubject: an invoice\r\nContent-Type: multipart/mixed; boundary=x\r\n"
    b"\r\n--x\r\nContent-Type: text/html\r\n\r\n<p>See <a href='https://example.org/i'>it</a></p>"
    b"<script>no</script>\r\n--x\r\nContent-Type: application/pdf\r\n"
    b"Content-Disposition: attachment; filename=invoice.pdf\r\n\r\nxxx\r\n--x--\r\n"
)


@pytest.fixture(scope="module")
def server() -> Iterator[ImapServer]:
    with imap_server(user=USER, password=PASSWORD) as started:
        yield started


@pytest.fixture(scope="module")
def uids(server: ImapServer) -> list[int]:
    return [server.deliver(ADA), server.deliver(BO)]


@pytest.fixture(autouse=True)
def reachable(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"


def mailbox(port: int) -> dict[str, Any]:
    value = ImapCredential(
        host="127.0.0.1", port=port, security="none", username=USER, password=SecretStr(PASSWORD)
    )
    return {"mailbox": value}


async def found(port: int, **arguments: Any) -> list[dict[str, Any]]:
    result = await done("search_email", credentials=mailbox(port), **arguments)
    assert result.status == "ok", result.content
    value: list[dict[str, Any]] = json.loads(result.content)
    return value


@pytest.mark.usefixtures("uids")
async def test_the_newest_mails_are_listed_with_previews(server: ImapServer) -> None:
    second, first = await found(server.port)
    assert first == {
        "id": first["id"],
        "read": False,
        "date": "2026-11-26T09:30:00+01:00",
        "from": "Ada Lovelace <ada@example.org>",
        "subject": "Grüße",
        "preview": "The engine wörks.",
    }
    assert second["subject"] == "an invoice"
    assert second["preview"] == "See it (https://example.org/i)"
    assert [one["subject"] for one in await found(server.port, count=1)] == ["an invoice"]


@pytest.mark.usefixtures("uids")
@pytest.mark.parametrize(
    ("criteria", "subjects"),
    [
        ({"sender": "ada@"}, ["Grüße"]),
        ({"subject": "invoice"}, ["an invoice"]),
        ({"text": "engine"}, ["Grüße"]),
        ({"text": 'no "such\\ words'}, []),
        ({"sender": "ada", "text": "engine"}, ["Grüße"]),
        ({"sender": "ada", "text": "invoice"}, []),
        ({"unread": True, "sender": "bo@example.org"}, ["an invoice"]),
        ({"since": "2020-01-01"}, ["an invoice", "Grüße"]),
        ({"since": "2100-01-01"}, []),
    ],
)
async def test_mails_are_found_by(
    server: ImapServer, criteria: dict[str, Any], subjects: list[str]
) -> None:
    assert [one["subject"] for one in await found(server.port, **criteria)] == subjects


async def test_a_mail_is_read_and_stays_unread_unless_asked(
    server: ImapServer, uids: list[int]
) -> None:
    (listed,) = await found(server.port, sender="ada")

    result = await done("read_email", credentials=mailbox(server.port), id=listed["id"])
    assert result.content == (
        "From: Ada Lovelace <ada@example.org>\nTo: support@example.org, b@example.org\n"
        "Reply-To: desk@example.org\nDate: 2026-11-26T09:30:00+01:00\nSubject: Grüße\n\n"
        "The engine wörks."
    )
    assert "Seen" not in server.flags(uids[0])

    (listed,) = await found(server.port, subject="invoice")
    result = await done(
        "read_email", credentials=mailbox(server.port), id=listed["id"], mark_as_read=True
    )
    assert "Attachment 1: invoice.pdf (application/pdf, 3 bytes)\n" in result.content
    assert "See it (https://example.org/i)" in result.content
    assert "Seen" in server.flags(uids[1])
    assert (await found(server.port, subject="invoice"))[0]["read"] is True


async def test_an_attachment_becomes_an_artifact_under_a_plain_name(server: ImapServer) -> None:
    hostile = b"filename*=utf-8''..%2F..%5Cetc%2Fp%E2%80%AEfdp.exe"
    uid = server.deliver(
        b"Subject: two files\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
        b"--x\r\nContent-Type: image/png\r\nContent-Disposition: attachment; " + hostile + b"\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\nAAECAw==\r\n--x\r\n"
        b"Content-Type: application/pdf\r\nContent-Disposition: attachment\r\n\r\nxxx\r\n--x--\r\n"
    )
    (listed,) = await found(server.port, subject="two files")
    stored: dict[str, bytes] = {}

    async def fetched(number: int, stored: dict[str, bytes] | None = stored) -> ToolResult:
        return await done(
            "fetch_attachment",
            credentials=mailbox(server.port),
            stored=stored,
            id=listed["id"],
            number=number,
        )

    result = json.loads((await fetched(1)).content)
    assert result == {"artifact": "1.0-0123abcd-pfdp.exe", "type": "image/png", "size": 4}
    await fetched(2)
    assert list(stored.items()) == [
        ("1.0-0123abcd-pfdp.exe", bytes(range(4))),
        ("1.0-0123abcd-attachment.pdf", b"xxx"),
    ]
    assert "has 2 attachments" in refusal(await fetched(3))
    assert "No artifact store" in refusal(await fetched(1, None))
    server.remove(uid)


@pytest.mark.usefixtures("uids")
@pytest.mark.parametrize(
    ("id_", "words"),
    [
        ("17", "is not a mail id"),
        ("1-1", "renumbered"),
        ("x\r\nA1 DELETE INBOX", "is not a mail id"),
    ],
)
async def test_an_id_that_fits_no_mail_is_said(server: ImapServer, id_: str, words: str) -> None:
    result = await done("read_email", credentials=mailbox(server.port), id=id_)
    assert words in refusal(result)


async def test_a_mail_that_is_gone_is_said(server: ImapServer) -> None:
    uid = server.deliver(b"Subject: short-lived\r\n\r\nx\r\n")
    (listed,) = await found(server.port, subject="short-lived")
    server.remove(uid)
    result = await done("read_email", credentials=mailbox(server.port), id=listed["id"])
    assert "was deleted or moved" in refusal(result)


async def test_other_folders_are_named_and_read(server: ImapServer) -> None:
    server.create("Z&APw-rich &- Bern")
    server.deliver(ADA, "Z&APw-rich &- Bern")

    said = refusal(await done("search_email", credentials=mailbox(server.port), folder="Nowhere"))
    assert "has no folder 'Nowhere'" in said
    assert "Its folders: " in said
    assert "Zürich & Bern" in said
    assert [one["subject"] for one in await found(server.port, folder="Zürich & Bern")] == ["Grüße"]


def test_a_folders_spelling_is_read_whatever_it_is() -> None:
    assert folder_of("&2D3eAA-") == "😀"
    assert folder_of("a &- b") == "a & b"
    assert folder_of("&A-") == "&A-"
    assert folder_of("&") == "&"


DEEP = b"".join(
    b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(500)
)


@pytest.mark.paced
@pytest.mark.parametrize(
    "rest",
    [
        b"From: " + b"<" * 1_000_000 + b"\r\n\r\nx",
        b"To: " + b"a@b.example, " * 200_000 + b"\r\n\r\nx",
        b"Date: " + b"1" * 1_000_000 + b"\r\n\r\nx",
        b"Content-Type: text/html\r\n\r\n" + b"<a " * 1_000_000,
        b"Content-Type: text/html\r\n\r\n" + b"<div>" * 500_000,
        DEEP,
        b"\r\n" + b"\x00\xff" * 2_000_000,
    ],
    ids=["sender", "recipients", "date", "tags", "divs", "parts", "bytes"],
)
async def test_a_hostile_mail_costs_little(rest: bytes) -> None:
    raw = b"Subject: hostile\r\n" + rest
    size = len(raw)
    fetched = b"* 1 FETCH (UID 8 RFC822.SIZE %d FLAGS () BODY[] {%d}\r\n" % (size, size)
    with talking(script({**GOOD, "FETCH": fetched + raw + b")\r\nTAG OK yes\r\n"})) as port:
        began = time.monotonic()
        listed = await found(port)
        result = await done("read_email", credentials=mailbox(port), id="7-8")
        in_time(time.monotonic() - began, 10)
    assert [one["id"] for one in listed] == ["7-8"]
    assert result.status == ("error" if rest is DEEP else "ok"), result.content[:200]
    assert len(result.content) < 120_000


async def test_a_server_that_lies_about_its_mails_is_said() -> None:
    huge = {**GOOD, "FETCH": b"* 1 FETCH (UID 8 FLAGS () BODY[]<0> {1000000000}\r\n"}
    with talking(script(huge)) as port:
        result = await done("search_email", credentials=mailbox(port))
    assert "wants to send 1000000000 bytes at once" in refusal(result)
