"""A real mail server (aiosmtpd) in a thread, with a login and, if asked, STARTTLS."""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Received:
    """What the server took.

    Attributes:
        port: Where it listens.
        envelopes: Each mail with its sender and recipients.
        refused: Recipients that it refuses.
    """

    port: int = 0
    envelopes: list[Any] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if address in self.refused:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 yes"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.envelopes.append(envelope)
        return "250 kept"


@contextmanager
def smtp_server(
    *, user: str = "", password: str = "", certificate: Path | None = None
) -> Iterator[Received]:
    """A server for the length of the block; it wants a login if a user is given."""

    def check(_: Any, __: Any, ___: Any, ____: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        good = (data.login, data.password) == (user.encode(), password.encode())
        return AuthResult(success=good, handled=False)

    options: dict[str, Any] = {"auth_required": bool(user), "auth_require_tls": False}
    if certificate is not None:
        options["tls_context"] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        options["tls_context"].load_cert_chain(certificate)
        options["require_starttls"] = True
    with socket.create_server(("127.0.0.1", 0)) as free:
        received = Received(free.getsockname()[1])
    controller = Controller(received, "127.0.0.1", received.port, authenticator=check, **options)
    controller.start()
    try:
        yield received
    finally:
        controller.stop()
