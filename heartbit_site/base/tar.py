"""Streaming reader of untrusted tar archives. Pure.

Python's ``tarfile`` seeks to the offset in a header, so a header may send it back for ever
(CVE-2025-8194). This reader only moves forward: each byte is read once, and entries, headers and
bytes are counted as they are read. It supports plain files, folders and the long names of GNU, BSD
and POSIX archives; other entries are named or refused, never followed.

Usage::

    reader = TarReader(take=lambda entry: entry.is_file, keep=files.__setitem__,
                       most_entries=10_000, most_bytes=200 * MEGABYTE)
    reader.feed(data)        # as often as there is more
    reader.is_complete       # True once the archive's end has come
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

BLOCK: Final = 512
_END: Final = bytes(BLOCK)
_HEADERS: Final = 3  # per entry, including the headers of its long names
_LONGEST_HEADER: Final = 8_192  # bytes of a header that holds a name
_RECORDS: Final = 64  # in such a header
_BLANK: Final = 8 * ord(" ")  # the checksum field counts as blanks
_FILES: Final = (b"0", b"\0")
_FOLDER: Final = b"5"
_EMPTY: Final = (b"1", b"2", b"3", b"4", b"5", b"6")  # links, devices, folders: no content follows
_LONG_NAME, _LONG_LINK, _POSIX, _POSIX_FOR_ALL = b"L", b"K", b"x", b"g"
_CARRIERS: Final = (_LONG_NAME, _LONG_LINK, _POSIX, _POSIX_FOR_ALL)


class TarError(ValueError):
    """The data is not an archive, or exceeds a limit."""


@dataclass(slots=True)
class Entry:
    """An entry of an archive.

    Attributes:
        name: Its path, as the archive has it.
        size: Bytes of its content.
        is_file: True if it is a plain file.
        is_folder: True if it is a folder.
    """

    name: str
    size: int
    is_file: bool
    is_folder: bool


class TarReader:
    """Reader of one archive.

    Args:
        take: Called with each entry; True keeps its content, whose size the caller has checked.
        keep: Called with the name and the content of each such entry.
        most_entries: Maximum number of entries, folders included.
        most_bytes: Maximum size of the archive in bytes.

    Attributes:
        is_complete: True once the end of the archive was read; later data is ignored.
    """

    def __init__(
        self,
        *,
        take: Callable[[Entry], bool],
        keep: Callable[[str, bytes], None],
        most_entries: int,
        most_bytes: int,
    ) -> None:
        self.is_complete = False
        self._take, self._keep = take, keep
        self._entries, self._bytes = most_entries, most_bytes
        self._count = self._headers = self._seen = 0
        self._held = bytearray()
        self._skip = 0  # bytes of a member that is not kept
        self._wanted = BLOCK  # bytes of the next header or content
        self._content: Callable[[bytes], None] = self._header
        self._long_name = b""
        self._is_sparse = False

    def feed(self, data: bytes) -> None:
        """Read on.

        Raises:
            TarError: It is not an archive or exceeds a limit; reading stops.
        """
        if self.is_complete:
            return
        self._seen += len(data)
        self._held += data
        at, end = 0, len(self._held)
        while not self.is_complete:
            step = min(self._skip, end - at)
            self._skip -= step
            at += step
            if self._skip or end - at < self._wanted:
                break
            piece = bytes(self._held[at : at + self._wanted])
            at += self._wanted
            self._content(piece)
        del self._held[:at]
        if self._seen > self._bytes and not self.is_complete:
            raise TarError(f"it has more than {self._bytes} bytes")

    def _header(self, block: bytes) -> None:
        if block == _END:
            self.is_complete = True
            return
        self._headers += 1
        if self._headers > _HEADERS * self._entries:
            raise TarError(f"it has more than {self._entries} entries")
        if _number(block[148:156]) != sum(block) - sum(block[148:156]) + _BLANK:
            raise TarError("a header's checksum is wrong")
        size, kind = _number(block[124:136]), block[156:157]
        if kind in _CARRIERS:
            if size > _LONGEST_HEADER:
                raise TarError("a name is too long")
            self._read_content(size, lambda data: self._carried(kind, data))
            return
        self._begin(_name(block), 0 if kind in _EMPTY else size, kind)

    def _begin(self, short: bytes, size: int, kind: bytes) -> None:
        self._count += 1
        if self._count > self._entries:
            raise TarError(f"it has more than {self._entries} entries")
        raw = self._long_name or short
        is_folder = kind == _FOLDER or (kind in _FILES and raw.endswith(b"/"))
        is_file = kind in _FILES and not is_folder and not self._is_sparse
        entry = Entry(raw.decode("utf-8", "surrogateescape"), size, is_file, is_folder)
        self._long_name, self._is_sparse = b"", False
        if self._take(entry):
            self._read_content(size, lambda data: self._keep(entry.name, data))
        else:
            self._skip = size + -size % BLOCK

    def _read_content(self, size: int, then: Callable[[bytes], None]) -> None:
        """Call ``then`` with the next bytes; a header follows their block."""

        def read(data: bytes) -> None:
            self._wanted, self._content = BLOCK, self._header
            self._skip = -size % BLOCK
            then(data)

        self._wanted, self._content = size, read

    def _carried(self, kind: bytes, data: bytes) -> None:
        """Store a long name for the entry that follows."""
        if kind == _LONG_NAME:
            self._long_name = data.partition(b"\0")[0]
        elif kind == _POSIX:
            for key, value in _records(data):
                if key == b"path":
                    self._long_name = value
                elif key == b"size":
                    raise TarError("a file is larger than 8 GB")
                elif key.startswith(b"GNU.sparse"):
                    self._is_sparse = True


def _number(field: bytes) -> int:
    """Return an octal number; other notations are only for numbers out of range."""
    text = field.strip(b"\0 ")
    if not text:
        return 0
    if not text.isdigit() or b"8" in text or b"9" in text:
        raise TarError("a header's number is not valid")
    return int(text, 8)


def _name(block: bytes) -> bytes:
    name = block[:100].partition(b"\0")[0]
    # At the place of POSIX's prefix, the GNU format has times.
    prefix = block[345:500].partition(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _records(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return keys and values of a POSIX header: each record is ``LENGTH KEY=VALUE`` and a newline.

    Raises:
        TarError: The header has another form.
    """
    found: list[tuple[bytes, bytes]] = []
    at, end = 0, len(data.rstrip(b"\0"))
    while at < end:
        length = data[at : at + 6].partition(b" ")[0]
        if not length.isdigit() or not len(length) + 3 <= int(length) <= end - at:
            raise TarError("an extended header is not valid")
        key, equals, value = data[at + len(length) + 1 : at + int(length) - 1].partition(b"=")
        if not equals or len(found) == _RECORDS:
            raise TarError("an extended header is not valid")
        found.append((key, value))
        at += int(length)
    return found
