"""A real IMAP server (pymap) in a process of its own, and others that only pretend to be one.

Usage::

    with imap_server(user="support", password="secret") as server:
        uid = server.deliver(raw)
"""

from __future__ import annotations

import datetime
import imaplib
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_START_SECONDS = 30

#: What a server with one mail answers (``script``).
GOOD = {
    "CAPABILITY": b"* CAPABILITY IMAP4rev1\r\nTAG OK yes\r\n",
    "LOGIN": b"TAG OK yes\r\n",
    "EXAMINE": b"* OK [UIDVALIDITY 7] a\r\n* OK [UIDNEXT 9] b\r\nTAG OK [READ-ONLY] yes\r\n",
    "SEARCH": b"* SEARCH 8\r\nTAG OK yes\r\n",
    "FETCH": b"* 1 FETCH (UID 8 BODY[] {5}\r\nhello)\r\nTAG OK yes\r\n",
    "LOGOUT": b"* BYE\r\nTAG OK yes\r\n",
}


@dataclass(frozen=True, slots=True)
class ImapServer:
    """Where it listens, and what can be done in it behind the back of the code under test.

    Attributes:
        port: Without TLS, or with STARTTLS if it has a certificate.
        user: Its only one.
        password: Of that.
        secure: Whether it wants STARTTLS.
    """

    port: int
    user: str
    password: str
    secure: bool = False

    def deliver(self, raw: bytes, folder: str = "INBOX") -> int:
        """Put a mail into a folder; its UID."""
        with self._logged_in() as client:
            answer, said = client.append(f'"{folder}"', "", "", raw)
            assert answer == "OK", said
            found = re.search(rb"APPENDUID \d+ (\d+)", said[0])
            assert found, said
            return int(found[1])

    def create(self, folder: str) -> None:
        """Make a folder; the name is as IMAP spells it."""
        with self._logged_in() as client:
            assert client.create(f'"{folder}"')[0] == "OK"

    def remove(self, uid: int) -> None:
        """Take a mail out of the inbox."""
        with self._logged_in() as client:
            client.select()
            client.uid("STORE", str(uid), "+FLAGS", r"(\Deleted)")
            client.expunge()

    def flags(self, uid: int) -> str:
        """What is noted of a mail of the inbox."""
        with self._logged_in() as client:
            client.select(readonly=True)
            return str(client.uid("FETCH", str(uid), "(FLAGS)")[1])

    @contextmanager
    def _logged_in(self) -> Iterator[imaplib.IMAP4]:
        with imaplib.IMAP4("127.0.0.1", self.port, timeout=20) as client:
            if self.secure:
                client.starttls(ssl._create_unverified_context())  # noqa: S323  its own
            client.authenticate("PLAIN", lambda _: f"\0{self.user}\0{self.password}".encode())
            yield client


#: pymap with 1,000 rounds of hashing a password: its 500,000 take half a second at each login.
PYMAP: Final = (
    *(sys.executable, "-c"),
    "import functools, pymap.config as config, pymap.main as program;"
    "config.BuiltinHash = functools.partial(config.BuiltinHash, rounds=1_000);"
    "program.main()",
)


@contextmanager
def imap_server(
    *, user: str, password: str, certificate: Path | None = None
) -> Iterator[ImapServer]:
    """A server with an empty mailbox, for the length of the block.

    Args:
        user: Who may log in.
        password: With what.
        certificate: A file with a key and a certificate; without one it has no TLS.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    tls = ("--cert", certificate, "--key", certificate) if certificate else ("--no-tls",)
    own = ("--demo-user", user, "--demo-password", password)
    with subprocess.Popen(
        [*PYMAP, "--host", "127.0.0.1", "--port", str(port), *tls, "dict", *own]
    ) as process:
        try:
            _wait_until_it_listens(process, port)
            yield ImapServer(port, user, password, secure=certificate is not None)
        finally:
            process.terminate()


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    ends = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        with suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"pymap ended with {process.wait(0.02)}")
    raise AssertionError("pymap does not listen")


def make_certificate(path: Path) -> Path:
    """A self-signed one of 127.0.0.1 with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


@contextmanager
def talking(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that says to whoever comes what the function says; its port.

    The function returns to hang up; a client that went away is no fault.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_answer, args=(listening, talk))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)  # so that accept ends
            thread.join()


def over_tls(talk: Callable[[socket.socket], None], certificate: Path) -> Callable[..., None]:
    """The same talk, with TLS from the first byte."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def talk_secretly(peer: socket.socket) -> None:
        with context.wrap_socket(peer, server_side=True) as secret:
            talk(secret)

    return talk_secretly


def script(answers: dict[str, bytes], greeting: bytes = b"* OK here\r\n") -> Callable[..., None]:
    """A talk that answers commands by their names.

    Args:
        answers: ``TAG`` in them becomes the command's. One without it, or without an end, is the
            last; so is a command that is not there.
        greeting: What is said first.
    """

    def talk(peer: socket.socket) -> None:
        peer.sendall(greeting)
        with peer.makefile("rb") as lines:
            for line in lines:
                tag, name, *rest = line.split(b" ")
                name = rest[0] if name == b"UID" else name
                answer = answers.get(name.strip().decode())
                if answer is None:
                    return
                peer.sendall(answer.replace(b"TAG", tag))
                if b"TAG" not in answer or not answer.endswith(b"\r\n"):
                    return

    return talk


def _answer(listening: socket.socket, talk: Callable[[socket.socket], None]) -> None:
    with suppress(OSError):  # it was closed
        while True:
            peer, _ = listening.accept()
            with peer, suppress(OSError):
                talk(peer)
