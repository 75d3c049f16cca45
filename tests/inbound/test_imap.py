"""Reading a mailbox: of a real server, and of servers that mean harm."""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.inbound.imap_server import (
    GOOD,
    ImapServer,
    imap_server,
    make_certificate,
    over_tls,
    script,
    talking,
)
from tests.pace import in_time
from tools.mail import connection, stream
from tools.mail.imap import MailAccount, folder_name, open_mailbox
from tools.mail.server import MailboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_django.fixtures import Settings

USER, PASSWORD = "support@example.org", 'pa"ss \\wörd 5d1e'
TOO_MUCH = (
    "The mail server 127.0.0.1 wants to send 1000000000 bytes at once: at most "
    f"{connection.MOST_LITERAL} are accepted."
)
FEW_BYTES = 16_000_000  # more than fits into the buffers of a connection
MAIL = b"From: ada@example.org\r\nSubject: a mail\r\n\r\nHello!\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[ImapServer]:
    with imap_server(user=USER, password=PASSWORD) as started:
        yield started


@pytest.fixture(autouse=True)
def reachable(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return make_certificate(tmp_path / "server.pem")


def account(port: int, **other: Any) -> MailAccount:
    values = {"security": "none", "user": USER, "password": PASSWORD, "host": "127.0.0.1"}
    return MailAccount(**{**values, "port": port, **other})


def trouble(port: int, **other: Any) -> str:
    """The sentence that a visit with one look at everything ends with."""
    with pytest.raises(MailboxError) as caught:
        visit(account(port, **other))
    said = str(caught.value)
    assert said.endswith((".", "?"))
    assert "\n" not in said
    assert other.get("password", PASSWORD) not in said
    assert len(said) < 700
    return said


def visit(account: MailAccount) -> list[bytes | None]:
    with open_mailbox(account) as mailbox:
        uids = mailbox.after(0, most=100)
        sizes = [mailbox.size(uid) for uid in uids]
        assert len(sizes) == len(uids)
        return [mailbox.fetch(uid) for uid in uids]


def told(talk: Callable[[socket.socket], None], **other: Any) -> str:
    with talking(talk) as port:
        return trouble(port, **other)


def test_a_server_that_wants_to_know_the_client_before_it_opens_a_folder_is_told() -> None:
    """So do 163.com and 126.com, which refuse each folder to a client that did not send ID."""
    named = False

    def talk(peer: socket.socket) -> None:
        nonlocal named
        peer.sendall(b"* OK here\r\n")
        for line in peer.makefile("rb"):
            tag, name, *rest = line.split()
            if name == b"ID":
                named = rest == [b'("name"', b'"Heartbit")']
            if name == b"EXAMINE" and not named:
                peer.sendall(tag + b" NO EXAMINE Unsafe Login. Please contact us\r\n")
                continue
            capability = b"* CAPABILITY IMAP4rev1 XLIST ID UIDPLUS\r\nTAG OK yes\r\n"
            answers = GOOD | {"CAPABILITY": capability, "ID": b"* ID NIL\r\nTAG OK yes\r\n"}
            peer.sendall(
                answers[(rest[0] if name == b"UID" else name).decode()].replace(b"TAG", tag)
            )

    with talking(talk) as port, open_mailbox(account(port)) as mailbox:
        assert mailbox.after(0, most=5) == [8]


def test_new_mails_are_found_and_read_and_stay_unread(server: ImapServer) -> None:
    with open_mailbox(account(server.port)) as before:
        first = before.uid_next
    uids = [server.deliver(MAIL), server.deliver(MAIL + b"again\r\n")]

    with open_mailbox(account(server.port)) as mailbox:
        assert mailbox.uid_validity == before.uid_validity > 0
        assert uids == [first, first + 1]
        assert mailbox.uid_next == first + 2
        assert mailbox.after(first - 1, most=10) == uids
        assert mailbox.after(first - 1, most=1) == uids[:1]
        assert mailbox.size(uids[1]) == len(MAIL) + 7
        assert mailbox.fetch(uids[1]) == MAIL + b"again\r\n"

    assert "Seen" not in server.flags(uids[1])


def test_the_last_mail_is_not_new_again(server: ImapServer) -> None:
    """For `n:*` a server names its last mail, even if all mails are older."""
    last = server.deliver(MAIL)

    with open_mailbox(account(server.port)) as mailbox:
        assert mailbox.after(last, most=10) == []
        assert mailbox.after(last + 5, most=10) == []
        assert mailbox.after(2**32 - 1, most=10) == []


def test_a_mail_that_is_gone_meanwhile_is_none(server: ImapServer) -> None:
    uid = server.deliver(MAIL)
    server.remove(uid)

    with open_mailbox(account(server.port)) as mailbox:
        assert mailbox.size(uid) is None
        assert mailbox.fetch(uid) is None


def test_a_mail_comes_byte_by_byte_as_it_was_sent(server: ImapServer) -> None:
    raw = b"Subject: x\r\n\r\n" + bytes(set(range(1, 256)) - {10, 13}) * 10_000
    uid = server.deliver(raw)

    with open_mailbox(account(server.port)) as mailbox:
        assert mailbox.fetch(uid) == raw


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("Support/Zürich & Bern", "Support/Z&APw-rich &- Bern"),
        ("台北", "&U,BTFw-"),
        ("a \"quoted\" 'one'", "a \"quoted\" 'one'"),
        ("tab\there", "tab&AAk-here"),
        ("😀", "&2D3eAA-"),
    ],
)
def test_a_folders_name_is_spelled_as_imap_wants_it(name: str, spelled: str) -> None:
    assert folder_name(name) == spelled


def test_another_folder_is_read(server: ImapServer) -> None:
    server.create("Z&APw-rich &- Bern")
    server.deliver(MAIL, "Z&APw-rich &- Bern")

    assert visit(account(server.port, folder="Zürich & Bern")) == [MAIL]


def test_a_folder_that_is_not_there_is_named(server: ImapServer) -> None:
    said = trouble(server.port, folder='no "such" \\folder')

    assert said.startswith(f"The mailbox {USER} has no folder 'no \"such\" \\\\folder'")
    assert "not exist" in said


def test_a_wrong_password_is_said_with_the_servers_words(server: ImapServer) -> None:
    said = trouble(server.port, password="wrong-4711")

    assert said == (
        f"The mail server 127.0.0.1 rejected the password of {USER}: "
        "[AUTHENTICATIONFAILED] Invalid authentication credentials."
    )


def test_a_password_is_in_no_text(server: ImapServer) -> None:
    assert PASSWORD not in repr(account(server.port))


def test_a_server_that_repeats_the_password_is_not_quoted() -> None:
    echo = b'TAG NO wrong: LOGIN "x" "pa\\"ss \\\\w\xc3\xb6rd 5d1e"\r\n'
    for answer in (echo, echo.replace(b"NO", b"BAD"), b'* BYE pa"ss \\w\xc3\xb6rd 5d1e\r\n'):
        said = told(script({**GOOD, "LOGIN": answer}))

        assert "5d1e" not in said
        assert "its message is not shown" in said


def test_a_plain_password_is_not_sent_to_a_server_that_takes_none() -> None:
    offer = b"* CAPABILITY IMAP4rev1 LOGINDISABLED\r\nTAG OK yes\r\n"

    assert "accepts no password over this connection" in told(script({"CAPABILITY": offer}))


def test_without_tls_a_password_goes_nowhere_on_the_internet() -> None:
    """Refused before a connection is opened: there is no network here."""
    assert trouble(143, host="93.184.215.14") == (
        "Without TLS, the password for 93.184.215.14 can be read on the network: use tls or "
        "starttls, or let an operator add the host to HEARTBIT_HTTP_ALLOWLIST."
    )


def test_a_server_within_is_blocked_unless_an_operator_named_it(
    settings: Settings, server: ImapServer
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = ""

    assert "HEARTBIT_HTTP_ALLOWLIST" in trouble(server.port)
    assert "public internet" in trouble(993)
    assert "(open: 143, 993)" in trouble(25, host="93.184.215.14", security="tls")


def test_one_inner_address_among_outer_ones_blocks_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolver([["93.184.215.14", "10.0.0.1"]]))

    assert "public internet" in trouble(993, host="imap.example", security="tls")


def test_a_name_is_resolved_once_and_the_checked_address_is_connected_to(
    settings: Settings, server: ImapServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = f"imap.example:{server.port}"
    monkeypatch.setattr(socket, "getaddrinfo", resolver([["127.0.0.1"], ["10.0.0.1"]]))

    with open_mailbox(account(server.port, host="imap.example")) as mailbox:
        assert mailbox.uid_validity


def test_a_server_that_is_not_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    assert trouble(port) == "The mail server 127.0.0.1 cannot be reached: Connection refused."


def test_a_name_that_is_none_is_said() -> None:
    assert "a" * 64 in trouble(993, host="a" * 64 + ".invalid", security="tls")


@pytest.mark.parametrize("name", ["host", "user", "password", "folder"])
@pytest.mark.parametrize("bad", ["a\rb", "a\nDELETE INBOX", "a\0b", "a\ud800b"])
def test_no_argument_brings_a_command_of_its_own(name: str, bad: str) -> None:
    assert trouble(993, **{name: bad}) == f"The mailbox's {name} must be one line of text."


@pytest.fixture
def secure(certificate: Path) -> Iterator[ImapServer]:
    with imap_server(user=USER, password=PASSWORD, certificate=certificate) as started:
        yield started


def test_starttls_wants_a_certificate_that_is_trusted(
    secure: ImapServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = trouble(secure.port, security="starttls")
    assert said == (
        "The mail server 127.0.0.1 failed the TLS handshake: its certificate is not valid: "
        "self-signed certificate."
    )

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.deliver(MAIL)
    assert visit(account(secure.port, security="starttls")) == [MAIL]


def test_tls_wants_a_certificate_that_is_trusted_and_the_hosts(
    settings: Settings, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(over_tls(script(GOOD), certificate)) as port:
        assert "self-signed certificate" in trouble(port, security="tls")

        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert visit(account(port, security="tls")) == [b"hello"]

        settings.HEARTBIT_HTTP_ALLOWLIST = f"imap.example:{port}"
        monkeypatch.setattr(socket, "getaddrinfo", resolver([["127.0.0.1"]]))
        assert "imap.example" in trouble(port, security="tls", host="imap.example")


def test_a_server_without_tls_is_not_mistaken_for_one_with(server: ImapServer) -> None:
    assert "offers no STARTTLS" in trouble(server.port, security="starttls")
    assert "does not use TLS at this port" in trouble(server.port, security="tls")


def test_words_before_tls_are_not_taken_for_words_within() -> None:
    """Whoever is on the way could answer for the server (CVE-2011-0411 and its like)."""
    offer = b"* CAPABILITY IMAP4rev1 STARTTLS\r\nTAG OK yes\r\n"
    answers = {"CAPABILITY": offer, "STARTTLS": b"TAG OK begin\r\n* CAPABILITY IMAP4rev1\r\n"}

    assert "sent data before TLS" in told(script(answers), security="starttls")


@pytest.mark.parametrize(
    ("security", "why"),
    [("none", "accepts logins without a password"), ("starttls", "refuses STARTTLS")],
)
def test_a_server_that_wants_no_password_is_not_believed(security: str, why: str) -> None:
    offer = {**GOOD, "CAPABILITY": b"* CAPABILITY IMAP4rev1 STARTTLS\r\nTAG OK yes\r\n"}

    assert why in told(script(offer, b"* PREAUTH welcome\r\n"), security=security)


def test_a_server_that_never_greets_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "READ_SECONDS", 0.2)

    def wait(peer: socket.socket) -> None:
        peer.recv(1)  # until the client has gone

    assert told(wait) == "The mail server 127.0.0.1 took too long to answer."


@pytest.mark.paced
def test_a_server_that_sends_a_byte_now_and_then_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "VISIT_SECONDS", 0.3)

    def drip(peer: socket.socket) -> None:
        while not select.select([peer], [], [], 0.02)[0]:  # readable: the client has gone
            peer.sendall(b"x")

    began = time.monotonic()
    assert "took longer than 0.3 seconds" in told(drip)
    in_time(time.monotonic() - began, 5)


@pytest.mark.parametrize(
    ("command", "answer", "why"),
    [
        ("CAPABILITY", b"* CAPABILITY {1000000000}\r\n", TOO_MUCH),
        ("FETCH", b"* 1 FETCH (UID 8 BODY[] {1000000000}\r\n", TOO_MUCH),
        (
            "FETCH",
            b"* 1 FETCH (UID 8 BODY[] {" + b"9" * 5000 + b"}\r\n",
            "The mail server 127.0.0.1 returned an invalid response: ",
        ),
    ],
    ids=["capability", "mail", "digits"],
)
def test_a_literal_of_a_gigabyte_is_not_read(command: str, answer: bytes, why: str) -> None:
    sent = 0

    def flood(peer: socket.socket) -> None:
        nonlocal sent
        script({**GOOD, command: answer})(peer)
        while sent < 10 * FEW_BYTES:  # or until the client has gone
            sent += peer.send(b"x" * 65_536)

    assert told(flood).startswith(why)
    assert sent < FEW_BYTES


def test_a_line_or_an_answer_without_an_end_is_not_kept() -> None:
    def flood(piece: bytes) -> Callable[[socket.socket], None]:
        def talk(peer: socket.socket) -> None:
            while True:
                peer.sendall(piece)

        return talk

    for piece in (b"x" * 65_536, (b"* OK " + b"x" * 1_000 + b"\r\n") * 60):
        assert "sent an oversized response" in told(flood(piece))


@pytest.mark.parametrize("command", list(GOOD)[:-1])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_server_that_hangs_up_in_the_middle_is_said(command: str, share: float) -> None:
    answer = GOOD[command][: int(len(GOOD[command]) * share)]

    name = "UID" if command in ("SEARCH", "FETCH") else command
    said = told(script({**GOOD, command: answer}))
    assert said.startswith(
        f"The mail server 127.0.0.1 closed the connection: command: {name} => socket error: "
    )


@pytest.mark.parametrize(
    ("command", "answer", "words"),
    [
        ("LOGIN", b"TAG NO [ALERT] use an app password\r\n", "[ALERT] use an app password."),
        ("EXAMINE", b"TAG OK yes\r\n", "no UIDs"),
        ("EXAMINE", b"* OK [UIDVALIDITY x] a\r\nTAG OK yes\r\n", "no UIDs"),
        ("SEARCH", b"TAG NO busy\r\n", "did not return its mails: busy."),
        ("SEARCH", b"TAG BAD what\r\n", "invalid response"),
        ("FETCH", b"* BYE shutting down\r\n", "shutting down"),
        ("CAPABILITY", b"* CAPABILITY {3}\r\nabc\r\nTAG OK yes\r\n", "invalid response"),
        ("CAPABILITY", b"* CAPABILITY \xff\r\nTAG OK yes\r\n", "invalid response"),
        ("CAPABILITY", b"HTTP/1.1 400 Bad Request\r\n", "HTTP/1.1 400"),
    ],
)
def test_what_a_server_says_instead_is_told(command: str, answer: bytes, words: str) -> None:
    assert words in told(script({**GOOD, command: answer}))


@pytest.mark.parametrize(
    ("answer", "mail"),
    [
        (b"* 1 FETCH (BODY[] {5}\r\nhello UID 8)\r\nTAG OK yes\r\n", b"hello"),
        (b'* 1 FETCH (UID 8 BODY[] "a \\"b\\"")\r\nTAG OK yes\r\n', b'a "b"'),
        (b"* 1 FETCH (UID 8 BODY[] NIL)\r\nTAG OK yes\r\n", None),
        (b"* 3 FETCH (FLAGS (\\Seen))\r\nTAG OK yes\r\n", None),
        (b"* 3 FETCH (UID 7 BODY[] {3}\r\nabc)\r\nTAG OK yes\r\n", None),
        (b"TAG NO [EXPUNGEISSUED] some are gone\r\n", None),
    ],
)
def test_every_form_of_an_answer_is_understood(answer: bytes, mail: bytes | None) -> None:
    with talking(script({**GOOD, "FETCH": answer})) as port:
        assert visit(account(port)) == [mail]


def test_numbers_that_are_no_uids_are_not_taken_for_mails() -> None:
    found = b"* SEARCH 8 99999999999 x5 5\r\n* SEARCH 9\r\nTAG OK yes\r\n"
    with (
        talking(script({**GOOD, "SEARCH": found})) as port,
        open_mailbox(account(port)) as mailbox,
    ):
        assert mailbox.after(7, most=10) == [8, 9]


def test_a_visit_ends_with_a_logout() -> None:
    commands: list[str] = []

    def talk(peer: socket.socket) -> None:
        peer.sendall(b"* OK here\r\n")
        with peer.makefile("rb") as lines:
            for line in lines:
                tag, name = line.split()[:2]
                commands.append(name.decode())
                peer.sendall(GOOD[commands[-1]].replace(b"TAG", tag))

    with talking(talk) as port, open_mailbox(account(port)):
        pass
    assert commands[-2:] == ["EXAMINE", "LOGOUT"]


def test_a_fault_of_whoever_reads_stays_his() -> None:
    with (
        talking(script(GOOD)) as port,
        pytest.raises(ZeroDivisionError),
        open_mailbox(account(port)),
    ):
        raise ZeroDivisionError


@given(
    pieces=st.lists(
        st.binary(max_size=200)
        | st.sampled_from([b"* OK x\r\n", b"+ \r\n", b"* 1 FETCH (UID 8 BODY[] {3}\r\n", b"\r\n"])
        | st.sampled_from(sorted(GOOD)).map(GOOD.__getitem__),
        max_size=8,
    )
)
@example(pieces=[b"* OK x\r\n", b"* CAPABILITY\r\nTAG OK y\r\n", b"+ x\r\n"])
@examples(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_a_server_says_ends_in_a_sentence(
    pieces: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "READ_SECONDS", 0.05)

    def talk(peer: socket.socket) -> None:
        with peer.makefile("rb") as lines:
            for piece in pieces:
                peer.sendall(piece)
                tag = lines.readline().split(b" ")[0]
                peer.sendall(piece.replace(b"TAG", tag))
        peer.shutdown(socket.SHUT_WR)

    with talking(talk) as port:
        try:
            visit(account(port))
        except MailboxError as error:
            assert PASSWORD not in str(error)


def resolver(answers: list[list[str]]) -> Callable[..., Any]:
    """In place of the system's: of names in turn what is given, of addresses themselves."""
    left = iter(answers)
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *rest: Any, **more: Any) -> Any:
        if not host.endswith(".example"):
            return real(host, port, *rest, **more)
        return [found for one in next(left) for found in real(one, port, *rest, **more)]

    return resolve
