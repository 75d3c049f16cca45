"""Valkey over TLS: the tests' server behind a proxy, with an authority of its own.

The embedded server is built without TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def write_certificates(folder: Path) -> tuple[Path, Path]:
    """Write an authority, and a certificate of ``localhost`` with its key; return both files."""
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tests")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])

    def signed(
        name: x509.Name, key: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType
    ) -> bytes:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        made = builder.sign(authority_key, hashes.SHA256())
        return made.public_bytes(serialization.Encoding.PEM)

    authority = folder / "authority.pem"
    authority.write_bytes(
        signed(issuer, authority_key, x509.BasicConstraints(ca=True, path_length=None))
    )
    server = folder / "server.pem"
    server.write_bytes(
        signed(subject, server_key, x509.SubjectAlternativeName([x509.DNSName("localhost")]))
        + server_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return authority, server


@contextmanager
def tls_proxy(socket: str, certificate: Path) -> Iterator[int]:
    """Serve what listens at a unix socket over TLS; yield the port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    started, ports, loops = threading.Event(), list[int](), list[asyncio.AbstractEventLoop]()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_unix_connection(socket)
        await asyncio.gather(copy(reader, forth), copy(back, writer))

    async def serve() -> None:
        async with await asyncio.start_server(connect, "127.0.0.1", 0, ssl=context) as server:
            loops.append(asyncio.get_running_loop())
            ports.append(server.sockets[0].getsockname()[1])
            started.set()
            await stop.wait()

    stop = asyncio.Event()
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        started.wait(10)
        yield ports[0]
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join()
