"""A mail server on a port of its own: it takes every mail, and keeps it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from email import message_from_bytes
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message


class Mailbox:
    """What it was sent, and where it listens."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.mails: list[Message] = []


@contextmanager
def receiving_mail() -> Iterator[Mailbox]:
    """A server for the length of the block."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            while line := self.rfile.readline():
                match line.split()[0].upper():
                    case b"DATA":
                        self._say("354 go on")
                        box.mails.append(message_from_bytes(self._content()))
                        self._say("250 kept")
                    case b"QUIT":
                        self._say("221 bye")
                        return
                    case _:
                        self._say("250 yes")

        def _content(self) -> bytes:
            lines: list[bytes] = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line)
            return b"".join(lines)

        def _say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        box = Mailbox(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()
