"""Archives of skills by strangers (S11): what is not a plain, small file is refused whole."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.skills.spec import (
    MAX_ARCHIVE_BYTES,
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_FILES,
    InvalidSkillError,
    pack,
    read_path,
    unpack,
)
from tests.skills.folders import skill_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = skill_files(scripts__run=b"echo", empty=b"")


def zipped(*entries: tuple[zipfile.ZipInfo | str, bytes], method: int = 0) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for entry, data in entries:
            archive.writestr(entry, data)
    return stream.getvalue()


def tarred(*entries: tuple[str, bytes, bytes], link: str = "") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, kind, data in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.size = kind, link, len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def of_kind(kind: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("entry")
    entry.create_system, entry.external_attr = 3, kind << 16
    return entry


def zip_that_lies() -> bytes:
    """An entry whose header says that it unpacks to nothing, with 64 MB of zeros inside."""
    data = bytearray(zipped(("zeros", bytes(64_000_000)), method=zipfile.ZIP_DEFLATED))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + offset, 5)
    return bytes(data)


def nameless() -> bytes:
    data = bytearray(zipped(("x", b"")))
    for mark, offset, name in ((b"PK\x03\x04", 26, 30), (b"PK\x01\x02", 28, 46)):
        start = data.index(mark)
        data[start + offset] = 0
        del data[start + name]
    end = data.index(b"PK\x05\x06")
    struct.pack_into("<I", data, end + 12, end - data.index(b"PK\x01\x02"))
    struct.pack_into("<I", data, end + 16, data.index(b"PK\x01\x02"))
    return bytes(data)


def encrypted() -> bytes:
    data = bytearray(zipped(("secret", b"x")))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    return bytes(data)


def huge_header() -> bytes:
    """A tar whose extended header claims gigabytes."""
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = tarfile.XHDTYPE, 8_000_000_000
    return entry.tobuf(tarfile.GNU_FORMAT) + bytes(10_240)


def sparse() -> bytes:
    entry = tarfile.TarInfo("hole")
    entry.type, entry.size = tarfile.GNUTYPE_SPARSE, 0
    return entry.tobuf(tarfile.GNU_FORMAT) + bytes(10_240)


ATTACKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "no archive": (lambda: b"hello", "cannot be read as zip or tar"),
    "empty": (lambda: b"", "cannot be read as zip or tar"),
    "half a zip": (lambda: pack(FILES)[:-30], "cannot be read as zip or tar"),
    "half a gzip": (lambda: gzip.compress(tarred(("a", b"0", b"x" * 9_999)))[:60], "be read as"),
    "absolute in zip": (lambda: zipped(("/etc/passwd", b"x")), "outside of its folder"),
    "upward in zip": (lambda: zipped(("a/../../b", b"x")), "outside of its folder"),
    "backslash in zip": (lambda: zipped(("a\\b", b"x")), "outside of its folder"),
    "drive in zip": (lambda: zipped(("C:/x", b"x")), "outside of its folder"),
    "upward folder in zip": (lambda: zipped(("../x/", b"")), "outside of its folder"),
    "absolute in tar": (lambda: tarred(("/etc/passwd", b"0", b"x")), "outside of its folder"),
    "upward in tar": (lambda: tarred(("../x", b"0", b"x")), "outside of its folder"),
    "symlink in zip": (lambda: zipped((of_kind(0o120777), b"/etc")), "a link or device"),
    "fifo in zip": (lambda: zipped((of_kind(0o010666), b"")), "a link or device"),
    "symlink in tar": (lambda: tarred(("a", b"2", b""), link="/etc"), "a link or device"),
    "hard link in tar": (lambda: tarred(("a", b"1", b""), link="b"), "a link or device"),
    "device in tar": (lambda: tarred(("a", b"3", b"")), "a link or device"),
    "fifo in tar": (lambda: tarred(("a", b"6", b"")), "a link or device"),
    "sparse in tar": (sparse, "a link or device"),
    "twice in zip": (lambda: _twice(), "twice: leave one out"),
    "twice in tar": (lambda: tarred(("a", b"0", b""), ("a", b"0", b"")), "twice: leave one out"),
    "bomb in zip": (
        lambda: zipped(("zeros", bytes(8_000_000)), method=zipfile.ZIP_DEFLATED),
        "more than 100 times its size",
    ),
    "bomb in gzip": (
        lambda: gzip.compress(tarred(("zeros", b"0", bytes(8_000_000)))),
        "more than 100 times its size",
    ),
    "200 MB in gzip": (lambda: gzip.compress(bytes(200_000_000), 1), "more than 8388608 bytes"),
    "large in zip": (lambda: zipped(("x", bytes(MAX_BYTES + 1))), "more than 8388608 bytes"),
    "large in tar": (lambda: tarred(("x", b"0", bytes(MAX_BYTES + 1))), "more than 8388608"),
    "a zip that lies": (zip_that_lies, "cannot be read as zip or tar"),
    "a huge header": (huge_header, "cannot be read as zip or tar"),
    "many entries": (
        lambda: zipped(*((f"{n}/", b"") for n in range(MAX_ENTRIES + 1))),
        "more than 2000 entries",
    ),
    "many entries in tar": (
        lambda: tarred(*((f"{n}", b"5", b"") for n in range(MAX_ENTRIES + 1))),
        "more than 2000 entries",
    ),
    "an entry without a name": (nameless, "cannot be read as zip or tar"),
    "encrypted": (encrypted, "an encrypted entry"),
    "lzma": (lambda: zipped(("a", b"x"), method=zipfile.ZIP_LZMA), "by an unknown method"),
    "too large": (lambda: bytes(MAX_ARCHIVE_BYTES + 1), "has more than"),
}


def _twice() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate"):
        return zipped(("a", b""), ("a", b""))


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_with_a_sentence(attack: str) -> None:
    make, sentence = ATTACKS[attack]
    with pytest.raises(InvalidSkillError, match=r"^The archive .*\.$") as caught:
        unpack(make())
    assert sentence in str(caught.value)


def test_zip_tar_and_gzipped_tar_have_the_same_files() -> None:
    tar = tarred(*((f"./{name}", b"0", data) for name, data in FILES.items()), ("d", b"5", b""))
    assert unpack(pack(FILES)) == unpack(tar) == unpack(gzip.compress(tar)) == FILES


def test_equal_files_give_equal_archives() -> None:
    assert pack(FILES) == pack(dict(reversed(FILES.items())))


@given(st.binary(max_size=2_000), st.integers(0, 2_000))
def test_damaged_archives_are_refused_or_read_and_nothing_else(junk: bytes, place: int) -> None:
    whole = pack(FILES)
    for data in (junk, whole[:place] + junk + whole[place + len(junk) :]):
        with suppress(InvalidSkillError):
            assert all(isinstance(content, bytes) for content in unpack(data).values())


def folder(path: Path) -> Path:
    for name, data in FILES.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(data)
    return path


def test_a_folder_and_its_archive_are_read_alike(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / ".git").mkdir()
    (place / ".git" / "HEAD").write_text("x")
    assert read_path(place) == FILES
    packed = tmp_path / "skill.zip"
    packed.write_bytes(pack(FILES))
    assert read_path(packed) == FILES


@pytest.mark.parametrize("target", ["/etc/passwd", "scripts"])
def test_a_link_in_a_folder_is_not_followed(tmp_path: Path, target: str) -> None:
    (folder(tmp_path) / "link").symlink_to(target)
    with pytest.raises(InvalidSkillError, match="link is a link: put the file itself"):
        read_path(tmp_path)


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 1):
        (tmp_path / str(number)).touch()
    with pytest.raises(InvalidSkillError, match="more than 500 files"):
        read_path(tmp_path)
