"""Much from little: what others send costs bounded memory, and nobody else waits for it."""

from __future__ import annotations

import io
import struct
import zipfile
from typing import TYPE_CHECKING

import httpx
import httpx2
import pytest

from agents.runtime.files.folder_limits import LIMITS
from heartbit_site.base.archives import RefusedFilesError, unpack
from heartbit_site.base.credentials import CredentialType
from heartbit_site.base.errors import HeartbitError
from tests.base.loopback import response, serving
from tests.base.test_http_guard import client
from tests.mcp.servers import connected, hostile, pinned
from tests.pace import in_time
from tests.security.measured import MOST_MEGABYTES, MOST_SECONDS, measured, measured_on_loop
from tests.sizes import sized
from tools.connectors.calendars import google
from tools.connectors.service import XmlError, parse_xml, read_json
from tools.mail.mime import read_mail
from tools.mcp.errors import McpError
from tools.mcp.guarded_transport import GuardedMcpTransport, sdk_client

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.security.measured import Measured

pytestmark = pytest.mark.paced


def zip_of_zeros(megabytes: int, *, declared: int) -> bytes:
    """An entry that unpacks to so many megabytes, and says that it is of another size."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros", "w") as entry,
    ):
        for _ in range(megabytes):
            entry.write(bytes(1_000_000))
    data = bytearray(stream.getvalue())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + offset, declared)
    return bytes(data)


def zip_of_entries(number: int) -> bytes:
    """A directory of so many entries, none of which is there."""
    fields = (20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", *fields) + b"a"
    counts = (0, 0, number & 0xFFFF, number & 0xFFFF, len(entry) * number, 4, 0)
    return b"PK\x03\x04" + entry * number + struct.pack("<4s4H2LH", b"PK\x05\x06", *counts)


def read_google(answer: httpx.Response) -> None:
    google._json(answer)


def read_service(answer: httpx.Response) -> None:
    read_json(answer, "Example", CredentialType())


def bounded(amounts: Measured, megabytes: float = MOST_MEGABYTES) -> None:
    assert amounts.megabytes < megabytes, str(amounts)
    in_time(amounts.waited, MOST_SECONDS)


@pytest.mark.parametrize(
    "archive",
    [
        lambda: zip_of_zeros(sized(80, full=700), declared=5),
        lambda: zip_of_zeros(sized(80, full=700), declared=2**31),
        lambda: zip_of_entries(sized(100_000, full=700_000)),
    ],
    ids=["says 5 bytes", "says 2 GB", "many entries"],
)
def test_a_zip_that_lies_about_its_size_is_not_unpacked(archive: Callable[[], bytes]) -> None:
    data = archive()
    with measured() as amounts, pytest.raises(RefusedFilesError):
        unpack(data, LIMITS)
    bounded(amounts, 16)
    in_time(amounts.seconds, 1)


@pytest.mark.parametrize("way", ["blocks", "asks", "pings"])
async def test_a_server_that_floods_a_call_costs_the_call(way: str) -> None:
    seconds = sized(1, full=25) if way == "pings" else 25  # the others end the call themselves
    async with connected(hostile(way)) as connection:
        wanted = pinned(connection, "good")
        async with measured_on_loop() as amounts:
            with pytest.raises(McpError) as failed:
                await connection.call(wanted, {}, key="k", seconds=seconds)
    expected = {
        "blocks": "it wrote a line of more than 100000 values",
        "asks": "it asked more than 100 times in one call",
        "pings": "did not finish",
    }
    assert expected[way] in str(failed.value)
    bounded(amounts, 40)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_over_http_is_counted_before_it_is_parsed(kind: str) -> None:
    blocks = b",".join([b'{"type":"text","text":""}'] * 350_000)
    body = b'{"jsonrpc":"2.0","id":1,"result":{"content":[' + blocks + b"]}}"
    async with serving() as server, client(server.port, allow=["127.0.0.1:*"]) as guarded:
        frame = b"data: " + body + b"\n\n" if "event" in kind else body
        server.answers["/mcp"] = response(frame, headers=(f"Content-Type: {kind}",))
        sdk = sdk_client(GuardedMcpTransport(guarded), {})  # type: ignore[arg-type]
        async with measured_on_loop() as amounts:
            with pytest.raises(httpx2.ReadError, match="more than 100000 values"):
                await sdk.post(f"http://127.0.0.1:{server.port}/mcp", json={})
        await sdk.aclose()
    bounded(amounts, 40)


def test_a_mail_in_millions_of_lines_is_decoded_at_once() -> None:
    head = (
        b"From: a@b.example\r\nContent-Type: text/plain\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\n"
    )
    lines = sized(200_000, full=1_600_000)
    mail = head + b"YWFh\r\n" * lines
    with measured() as amounts:
        assert read_mail(mail).text.startswith("aaa")
    bounded(amounts, 8 * len(mail) / 1_000_000)
    in_time(amounts.seconds, 1)


@pytest.mark.parametrize("item", ["<a/>", '<a b="" c=""/>', "<a b='' c=''/>"])
def test_xml_of_many_small_elements_is_not_parsed(item: str) -> None:
    data = f"<r>{item * (4_900_000 // len(item))}</r>".encode()
    with measured() as amounts, pytest.raises(XmlError, match="more than 200000 tags"):
        parse_xml(data)
    bounded(amounts, 16)
    in_time(amounts.seconds, 1)


@pytest.mark.parametrize("read", [read_google, read_service])
def test_json_of_many_small_values_is_not_parsed(read: Callable[[httpx.Response], None]) -> None:
    data = b"[" + b"[]," * 1_600_000 + b"[]]"
    answer = httpx.Response(200, content=data)
    with measured() as amounts, pytest.raises(HeartbitError, match="more than 100000 values"):
        read(answer)
    bounded(amounts, 16)
    in_time(amounts.seconds, 1)
