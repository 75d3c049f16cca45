"""A mail server on a port of its own: it takes every mail, and keeps it, unless told otherwise."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from email import message_from_bytes
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import Message


class Mailbox:
    """What it was sent, and where it listens.

    Attributes:
        mails: What it took.
        taken_for: Whom each of them is for.
        answers: What it says to a recipient, in turn, instead of 250.
        verdicts: What it says to a mail's content, in turn, instead of 250.
        before_taking: Called when it has a mail and has not said so yet.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.mails: list[Message] = []
        self.taken_for: list[str] = []
        self.answers: dict[str, list[str]] = {}
        self.verdicts: list[str] = []
        self.before_taking: Callable[[], object] = lambda: None


class _Server(ThreadingTCPServer):
    """One thread a connection."""

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Connection)
        self.box = Mailbox(self.server_address[1])


class _Connection(StreamRequestHandler):
    """A client that hands over mails."""

    server: _Server

    def handle(self) -> None:
        addressee = ""
        self._say("220 here")
        while line := self.rfile.readline():
            match line.split()[0].upper():
                case b"RCPT":
                    addressee = line.decode().partition("<")[2].partition(">")[0]
                    answers = self.server.box.answers.get(addressee, [])
                    self._say(answers.pop(0) if answers else "250 yes")
                case b"DATA":
                    self._say("354 go on")
                    self._take(addressee, self._content())
                case b"QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 yes")

    def _take(self, addressee: str, content: bytes) -> None:
        box = self.server.box
        if box.verdicts:
            self._say(box.verdicts.pop(0))
            return
        box.mails.append(message_from_bytes(content))
        box.taken_for.append(addressee)
        box.before_taking()
        self._say("250 kept")

    def _content(self) -> bytes:
        lines: list[bytes] = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        return b"".join(lines)

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def receiving_mail(port: int = 0) -> Iterator[Mailbox]:
    """A server for the length of the block; port 0: any that is free."""
    with _Server(port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.box
        finally:
            server.shutdown()
            thread.join()
