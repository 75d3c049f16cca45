"""Files of agents: in the workspace's folder and in a bucket of moto's server."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from moto.server import ThreadedMotoServer
from pydantic import SecretStr

from heartbit_site.base.credentials import S3Credential
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.toolspec import Label
from tests.base.loopback import response, serving
from tests.tools.connectors.connecting import error, value
from tools.connectors.drive import files as drive_files
from tools.connectors.drive import folder as folder_module
from tools.connectors.drive.bucket import BucketDrive, sign
from tools.connectors.drive.files import DriveError
from tools.connectors.drive.folder import FolderDrive
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "wJalrXUtnFEMI-canary-K7MDENG"


@pytest.fixture
def drive(tmp_path: Path, settings: Any) -> Path:
    """The folder of workspace 1, which the calls of these tests have."""
    settings.HEARTBIT_DRIVE_DIR = str(tmp_path)
    return tmp_path / "1"


@pytest.fixture(scope="module")
def moto() -> Iterator[int]:
    """The port of a server that speaks S3, with the bucket ``papers``."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    assert httpx.put(f"http://127.0.0.1:{port}/papers").status_code == 200
    yield port
    server.stop()


def bucket(port: int, **fields: Any) -> dict[str, Any]:
    storage = S3Credential(
        **{
            "url": f"http://127.0.0.1:{port}",
            "bucket": "papers",
            "access_key": "AKIATEST",
            "secret_key": SecretStr(SECRET),
            **fields,
        }
    )
    return {"credentials": {"storage": storage}, "allow": f"127.0.0.1:{port}"}


async def use(where: dict[str, Any]) -> None:
    """Write, list, search and read files, in whatever place."""
    name = "reports/2026/Übersicht & mehr.txt"
    assert await value("write_file", file=name, text="Zahlen: 42 °C", **where) == (
        f"Wrote {name} (14 bytes)."
    )
    await value("write_file", file="notes.txt", text="Nothing.", **where)
    rows = (await value("list_files", **where))["files"]
    assert [(row["name"], row["size"]) for row in rows] == [("notes.txt", 8), (name, 14)]
    page = await value("list_files", limit=1, **where)
    assert (page["files"][0]["name"], page["more"]) == ("notes.txt", True)
    page = await value("list_files", after="notes.txt", folder="reports", **where)
    assert [row["name"] for row in page["files"]] == [name]

    assert await value("read_file", file=name, offset=8, length=4, **where) == (
        "[bytes 8 to 11 of 14; read on from offset 11]\n42 "
    )
    found = await value("search_files", query="ÜBERSICHT", **where)
    assert [row["name"] for row in found["files"]] == [name]
    found = await value("search_files", query="zahlen", contents=True, **where)
    assert [row["excerpt"] for row in found["files"]] == ["Zahlen: 42 °C"]

    # Repeating a write changes nothing; another content is refused until it is wanted.
    await value("write_file", file="notes.txt", text="Nothing.", **where)
    assert "exists with different content" in await error(
        "write_file", file="notes.txt", text="Something.", **where
    )
    await value("write_file", file="notes.txt", text="Something.", replace=True, **where)
    assert (await value("read_file", file="notes.txt", **where)).endswith("\nSomething.")
    # A file of any kind goes to and from the run's artifacts.
    stored = {"1.0-ffffffff-logo.png": b"\x89PNG\0"}
    place = {**where, "stored": stored}
    await value("write_file", file="art/logo.png", artifact="1.0-ffffffff-logo.png", **place)
    assert "fetch_file" in await error("read_file", file="art/logo.png", **where)
    fetched = await value("fetch_file", file="art/logo.png", **place)
    assert fetched == {"artifact": "1.0-0123abcd-logo.png", "size": 5}
    assert stored["1.0-0123abcd-logo.png"] == b"\x89PNG\0"
    assert "No artifact store" in await error("fetch_file", file="art/logo.png", **where)
    assert "no file 'no.png'" in await error("fetch_file", file="no.png", **place)
    assert "no file 'gone.txt'" in await error("read_file", file="gone.txt", **where)


async def test_the_workspaces_folder(drive: Path) -> None:
    assert await value("list_files") == {"files": [], "more": False}
    await use({})
    assert sorted(path.name for path in drive.iterdir()) == ["art", "notes.txt", "reports"]


def test_files_are_private_and_may_be_by_outsiders() -> None:
    for name in ("list_files", "search_files", "read_file", "fetch_file"):
        assert registry[name].labels == {Label.PRIVATE, Label.UNTRUSTED}


async def test_a_bucket(moto: int) -> None:
    await use(bucket(moto))


@pytest.mark.parametrize(
    "name",
    [
        "../2/x",
        "/etc/passwd",
        "a/../b",
        "a//b",
        ".hidden",
        "a\\b",
        "a\0b",
        "a\nb",
        "a\u202eb",
        "",
        "a/",
        *("x" * 201, "/".join("abcdefghijk"), "a:b", " a", "a.", "\ud800"),
    ],
)
async def test_names_that_lead_out_or_are_odd_are_refused(drive: Path, name: str) -> None:
    for call in (("read_file", {}), ("write_file", {"text": "x"})):
        said = await error(call[0], file=name, **call[1])
        assert "name" in said or "file" in said
    assert not drive.exists()


async def test_only_plain_files_of_the_folder_are_seen(drive: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("canary")
    drive.mkdir()
    (drive / "link.txt").symlink_to(secret)
    (drive / "hard.txt").hardlink_to(secret)
    (drive / "out").symlink_to(tmp_path)
    os.mkfifo(drive / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(drive / "socket"))
        with (drive / "huge.bin").open("wb") as file:
            file.truncate(2**40)
        (drive / ".hidden").write_text("canary")
        rows = (await value("list_files"))["files"]
        assert [row["name"] for row in rows] == ["huge.bin"]
        names = ("link.txt", "hard.txt", "out/secret.txt", "fifo", "socket", "huge.bin")
        for name in names:
            assert "canary" not in await error("read_file", file=name)
        await error("write_file", file="out/new.txt", text="x")
        await error("write_file", file="link.txt/new.txt", text="x")
        # Replacing a link replaces the link, never its target.
        (drive / "huge.bin").unlink()
        await value("write_file", file="link.txt", text="mine", replace=True)
    assert secret.read_text() == "canary"
    assert not (tmp_path / "new.txt").exists()


async def test_what_is_too_much_is_refused(drive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DriveError, match="the limit for agents"):
        await FolderDrive(drive).write("a", b"x" * 10_000_001, replace=False)
    monkeypatch.setattr(drive_files, "MAX_FILES", 1)
    await value("write_file", file="a", text="x")
    assert "full" in await error("write_file", file="b", text="x")
    await value("write_file", file="a", text="y", replace=True)
    monkeypatch.setattr(folder_module, "MAX_BYTES", 10)
    assert "full" in await error("write_file", file="a", text="y" * 11, replace=True)
    (drive / "picture").write_bytes(b"\x89PNG\0")
    assert "not a text file" in await error("read_file", file="picture")
    (drive / "latin.csv").write_bytes("Straße;Größe".encode("cp1252"))
    assert await value("read_file", file="latin.csv") == (
        "[No encoding is named: read as Windows-1252 (Western European), which is a guess; "
        "save it as UTF-8 to be sure.]\n"
        "[bytes 0 to 15 of 15; the end]\nStraße;Größe"
    )
    found = await value("search_files", query="GRÖSSE", contents=True)
    assert [row["name"] for row in found["files"]] == ["latin.csv"]
    (drive / "wide.txt").write_bytes("Größe".encode("utf-16"))
    assert (await value("read_file", file="wide.txt")).endswith("\nGröße")
    assert "either a text or an artifact" in await error("write_file", file="c")
    assert [path.name for path in drive.iterdir() if path.name.startswith(".")] == []


async def test_an_internal_address_is_refused(moto: int) -> None:
    where = bucket(moto) | {"allow": ""}
    assert "closed to tools" in await error("list_files", **where)
    for host in ("169.254.169.254", "[::1]", "0x7f000001"):
        where = bucket(moto, url=f"http://{host}") | {"allow": ""}
        said = await error("read_file", file="a", **where)
        assert "public internet" in said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (response(b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"), "document type"),
        (response(b"<a>"), "not well-formed"),
        (response(b"", status="302 Found", headers=("Location: http://169.254.169.254/",)), "302"),
        (
            response(b"<Error><Code>AccessDenied</Code></Error>", status="403 Forbidden"),
            "AccessDenied",
        ),
    ],
)
async def test_a_hostile_or_unwilling_storage_is_one_sentence(answer: bytes, said: str) -> None:
    async with serving() as server:
        path = "/papers?list-type=2&max-keys=1000&prefix="
        server.answers[path] = answer
        text = await error("list_files", **bucket(server.port))
        assert said in text
        assert SECRET not in text
        assert all(SECRET not in str(request.headers) for request in server.requests)


async def test_check_tells_a_good_credential_from_a_bad_one(moto: int) -> None:
    async with GuardedClient(allow=parse_allow(f"127.0.0.1:{moto}")) as http:
        await BucketDrive(http, bucket(moto)["credentials"]["storage"]).check()
        with pytest.raises(DriveError, match="NoSuchBucket"):
            await BucketDrive(http, bucket(moto, bucket="other")["credentials"]["storage"]).check()


def test_signatures_are_those_of_amazons_example() -> None:
    signed = sign(
        "GET",
        "https://examplebucket.s3.amazonaws.com/test.txt",
        b"",
        access_key="AKIAIOSFODNN7EXAMPLE",
        secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        region="us-east-1",
        headers={"range": "bytes=0-9"},
        now=datetime(2013, 5, 24, tzinfo=UTC),
    )
    assert signed["authorization"].endswith(
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    )
