"""Archives as nobody packs them: the programs of a sandbox may write any bytes in their place.

Only the standard library is used, so that this file's source runs inside a sandbox as well.
"""

from __future__ import annotations

import io
import os
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MANY = 250_000
HEADERS = 31_000
_END = bytes(10_240)


def entry(
    name: str = "x", *, kind: bytes = b"0", size: bytes = b"0" * 11, data: bytes = b""
) -> bytes:
    """An entry whose header says any size, with the checksum of a true one."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd" if kind in (b"1", b"2") else ""
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = size.ljust(12, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + data + bytes(-len(data) % 512)


def sized(data: bytes, name: str = "x", kind: bytes = b"0") -> bytes:
    """An entry that says the truth."""
    return entry(name, kind=kind, size=b"%011o" % len(data), data=data)


def number(value: int) -> bytes:
    """A size in the other notation of GNU's, which may be negative."""
    return (value + (1 << 96 if value < 0 else 1 << 95)).to_bytes(12, "big")


def posix(*records: bytes) -> bytes:
    """An extended header."""
    return sized(b"".join(records), kind=b"x")


def record(text: bytes, length: int | None = None) -> bytes:
    """A record of an extended header."""
    found = len(text) + 3
    found += len(str(found)) - 1
    return b"%d %s\n" % (length if length is not None else found, text)


#: Archives that are none; a plain file precedes what is wrong with each.
FORGED: dict[str, Callable[[], bytes]] = {
    "a negative size": lambda: entry(size=number(-512)) + _END,
    "a negative size of a folder": lambda: entry(kind=b"5", size=number(-512)) + _END,
    "a negative size of a name": lambda: entry(kind=b"L", size=number(-1024)) + entry() + _END,
    "a negative size of an unknown kind": lambda: entry(kind=b"Z", size=number(-512)) + _END,
    "a negative size in words": lambda: posix(record(b"size=-512")) + entry() + _END,
    "a negative number": lambda: entry(size=b"-0000001000") + _END,
    "a huge size": lambda: entry(size=b"77777777777") + _END,
    "a huge size of a name": lambda: entry(kind=b"L", size=b"77777777777") + _END,
    "a size beyond all": lambda: entry(size=number(1 << 80)) + _END,
    "sparse": lambda: entry(kind=b"S") + b"\xff" * 512 + _END,
    "a record without a length": lambda: posix(record(b"path=x", 0)) + entry() + _END,
    "a record that is too long": lambda: posix(record(b"path=x", 99_999)) + entry() + _END,
    "many entries": lambda: entry() * MANY + _END,
    "many folders": lambda: entry(kind=b"5") * MANY + _END,
    "endless names": lambda: sized(b"y" * 300, kind=b"L") * HEADERS + entry() + _END,
    "endless headers": lambda: posix(record(b"path=x")) * HEADERS + entry() + _END,
    "many records": lambda: posix(record(b"a=") * 1_500) * 10_000 + entry() + _END,
    "no end": lambda: sized(b"x"),
    "half of a header": lambda: entry()[:300],
    "half of a file": lambda: sized(b"x" * 9_999)[:2_000],
    "more than there may be": lambda: entry(size=b"00700000000") + bytes(120_000_000),
    "noise": lambda: os.urandom(1_000_000),
    "text": lambda: b"a line of text\n" * 1_000,
}


def forged(name: str) -> bytes:
    """The archive."""
    return sized(b"kept", name="first") + FORGED[name]()


#: Archives that end as they should, with things in them that are nobody's plain files.
ODD: dict[str, Callable[[], bytes]] = {
    "a link": lambda: entry(kind=b"2"),
    "a hard link": lambda: entry(kind=b"1"),
    "a hard link with a size": lambda: entry(kind=b"1", size=b"00000001000"),
    "a pipe": lambda: entry(kind=b"6"),
    "a device": lambda: entry(kind=b"3"),
    "sparse in words": lambda: posix(record(b"GNU.sparse.major=1")) + entry(),
    "a way out": lambda: entry("../x"),
    "a way out in words": lambda: posix(record(b"path=../../x")) + entry(),
    "a long way out": lambda: sized(b"/" + b"y" * 300 + b"\0", kind=b"L") + entry(),
    "a name that is no text": lambda: sized(b"\xff\xfe\0", kind=b"L") + entry(),
    "a name of a line": lambda: entry("a\nb"),
    "too large": lambda: sized(bytes(1_000_001)),
}


def odd(name: str) -> bytes:
    """The archive: two plain files, and it in between."""
    last = io.BytesIO()
    with tarfile.open(fileobj=last, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("last/" + "ü" * 80)
        info.size = 4
        archive.addfile(info, io.BytesIO(b"kept"))
    return sized(b"kept", name="first") + ODD[name]() + last.getvalue()
