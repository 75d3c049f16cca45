"""The guarded client bounds every answer in bytes and seconds, and speaks TLS to the URL's host."""

from __future__ import annotations

import asyncio
import datetime
import gzip
import ssl
import time
import zlib
from typing import TYPE_CHECKING

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.http.errors import OutboundLimitError
from tests.base.loopback import Server, response, serving
from tests.base.test_http_guard import resolver
from tests.pace import in_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


def client(server: Server, *, size: int = 1_000_000, seconds: float = 10) -> httpx.AsyncClient:
    return GuardedClient(
        allow=parse_allow(f"public.example:{server.port}"),
        resolver=resolver,
        max_response_bytes=size,
        deadline_seconds=seconds,
    )


def url(server: Server, path: str = "/") -> str:
    return f"http://public.example:{server.port}{path}"


@pytest.mark.parametrize(("wbits", "encoding"), [(31, "gzip"), (31, "X-GZIP"), (15, "deflate")])
async def test_a_compressed_answer_is_read(server: Server, wbits: int, encoding: str) -> None:
    text = b"hello " * 50_000
    body = zlib.compress(text, wbits=wbits)
    server.answers["/"] = response(body, headers=(f"Content-Encoding: {encoding}",))
    async with client(server) as http:
        answer = await http.get(url(server))
    assert answer.content == text
    assert server.requests[0].headers["accept-encoding"] == "gzip"


async def test_a_gzip_bomb_goes_off_in_small_pieces(server: Server) -> None:
    bomb = gzip.compress(bytes(100_000_000), compresslevel=1)
    server.answers["/"] = response(bomb, headers=("Content-Encoding: gzip",))
    size = 0
    async with client(server) as http:
        with pytest.raises(OutboundLimitError, match="larger than 1000000 bytes"):
            await http.get(url(server))
        with pytest.raises(OutboundLimitError):
            async with http.stream("GET", url(server)) as answer:
                async for piece in answer.aiter_bytes():
                    assert len(piece) <= 65_536
                    size += len(piece)
    assert 900_000 < size <= 1_000_000


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
async def test_an_encoding_that_cannot_be_bounded_is_refused(server: Server, encoding: str) -> None:
    server.answers["/"] = response(b"x", headers=(f"Content-Encoding: {encoding}",))
    async with client(server) as http:
        with pytest.raises(httpx.DecodingError, match="not requested"):
            await http.get(url(server), headers={"Accept-Encoding": encoding})


async def test_broken_compression_is_an_error(server: Server) -> None:
    server.answers["/"] = response(b"not gzip", headers=("Content-Encoding: gzip",))
    async with client(server) as http:
        with pytest.raises(httpx.DecodingError, match="response is compressed badly"):
            await http.get(url(server))


@pytest.mark.parametrize("charset", ["zlib", "bz2", "hex", "punycode", "unicode_escape", "rot13"])
async def test_a_charset_is_no_way_to_run_a_codec(server: Server, charset: str) -> None:
    body = zlib.compress(bytes(2_000_000))
    server.answers["/"] = response(body, headers=(f"Content-Type: text/plain; charset={charset}",))
    async with client(server) as http:
        answer = await http.get(url(server))
    assert len(answer.text) <= len(body)


async def test_a_declared_size_is_refused_before_the_body(server: Server) -> None:
    server.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    async with client(server) as http:
        with pytest.raises(OutboundLimitError):
            await http.get(url(server))
        server.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
        assert (await http.head(url(server))).status_code == 200


async def test_an_undeclared_size_is_refused_at_the_limit(server: Server) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(bytes(65_536))
            await writer.drain()

    server.answers["/"] = endless
    async with client(server) as http:
        with pytest.raises(OutboundLimitError, match="larger"):
            await http.get(url(server))


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
@pytest.mark.paced
async def test_a_slow_drip_meets_the_deadline(server: Server, start: bytes) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(b"a: b\r\n" if not start.endswith(b"\r\n\r\n") else b"x")
            await writer.drain()
            await asyncio.sleep(0.01)  # the fault itself: never idle, never done

    if not start:

        async def informational(writer: asyncio.StreamWriter) -> None:
            while True:
                writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
                await writer.drain()
                await asyncio.sleep(0.01)

        server.answers["/"] = informational
    else:
        server.answers["/"] = drip
    began = time.monotonic()
    async with client(server, seconds=0.2) as http:
        with pytest.raises((OutboundLimitError, httpx.RemoteProtocolError)):
            await http.get(url(server))
    in_time(time.monotonic() - began, 2)


async def test_a_streamed_body_has_the_same_deadline(server: Server) -> None:
    never = asyncio.Event()

    async def stall(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nfirst")
        await writer.drain()
        await never.wait()

    server.answers["/"] = stall
    async with client(server, seconds=0.2) as http:
        with pytest.raises(OutboundLimitError, match="total time limit"):
            async with http.stream("GET", url(server)) as answer:
                async for _ in answer.aiter_bytes():
                    pass


async def test_redirects_share_one_deadline(server: Server) -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.08)  # shorter than the deadline, so only the sum can meet it
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    server.answers["/"] = slow
    async with client(server, seconds=0.2) as http:
        with pytest.raises(OutboundLimitError, match="total time limit"):
            await http.get(url(server))


async def test_errors_are_those_of_httpx(server: Server) -> None:
    async def hang_up(writer: asyncio.StreamWriter) -> None:
        writer.close()

    server.answers["/"] = hang_up
    async with client(server) as http:
        with pytest.raises(httpx.RemoteProtocolError, match=r"Talking to public\.example failed"):
            await http.get(url(server))
        with pytest.raises(httpx.ConnectError, match="cannot be resolved"):
            await http.get("http://" + "a" * 70 + ".example/")


async def test_a_connection_is_reused(server: Server) -> None:
    async with client(server) as http:
        for _ in range(3):
            await http.get(url(server))
    assert (server.connections, len(server.requests)) == (1, 3)


async def test_tls_names_and_verifies_the_host_of_the_url(tmp_path: Path) -> None:
    names: list[str | None] = []
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority = _certificate(tmp_path, "public.example")
    server_side.load_cert_chain(authority)
    server_side.sni_callback = lambda _socket, name, _context: names.append(name)
    trusting = ssl.create_default_context(cafile=str(authority))
    async with serving(tls=server_side) as server:
        allow = parse_allow(f"public.example:{server.port}, internal.example:{server.port}")
        async with GuardedClient(allow=allow, resolver=resolver, ssl_context=trusting) as http:
            answer = await http.get(f"https://public.example:{server.port}/")
            with pytest.raises(httpx.ConnectError, match=r"internal\.example"):
                await http.get(f"https://internal.example:{server.port}/")
    assert answer.text == "secret"
    assert names == ["public.example", "internal.example"]
    assert server.requests[0].headers["host"] == f"public.example:{server.port}"


def _certificate(folder: Path, host: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
