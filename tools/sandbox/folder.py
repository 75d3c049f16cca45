"""The files of a sandboxed program's folder as a tar stream, in and out.

What comes out was written by a program that may be hostile: only plain files with plain names are
taken, up to the limits, and everything else is described.
"""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Final

from tools.sandbox.program import SandboxError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.sandbox.program import Limits

MAX_NAME: Final = 200
_NAMED: Final = 5  # refused files that are named one by one


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return files as a tar archive; empty if there are none.

    Raises:
        SandboxError: A name is not a plain relative path.
    """
    if not files:
        return b""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            if problem := name_problem(name):
                raise SandboxError(f"The file {name[:MAX_NAME]!r} {problem}.")
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def unpack(data: bytes, limits: Limits) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the plain files of an archive, and sentences on what was left out."""
    files: dict[str, bytes] = {}
    left_out: list[str] = []
    room = limits.file_bytes
    if not data:
        return files, ()
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for entry in archive:
                name = entry.name.removeprefix("./")
                if entry.isdir():
                    continue
                problem = _problem(entry, name, room, len(files), limits)
                if problem:
                    left_out.append(f"{name[:MAX_NAME]!r} {problem}.")
                    continue
                found = archive.extractfile(entry)
                files[name] = found.read() if found is not None else b""
                room -= entry.size
    except (tarfile.TarError, EOFError, ValueError, OverflowError, UnicodeError) as error:
        left_out.append(f"The files could not be read to the end ({error}).")
    if len(left_out) > _NAMED:
        left_out[_NAMED:] = [f"{len(left_out) - _NAMED} more were left out."]
    return files, tuple(left_out)


def name_problem(name: str) -> str | None:
    """Return why a name cannot be that of a file in the folder, as the end of a sentence."""
    parts = name.split("/")
    if not name or len(name) > MAX_NAME:
        return f"has no name of 1 to {MAX_NAME} characters"
    if any(part in ("", ".", "..") for part in parts) or "\\" in name:
        return "is not a plain relative path"
    return None if name.isprintable() else "has a name with control characters"


def _problem(
    entry: tarfile.TarInfo, name: str, room: int, count: int, limits: Limits
) -> str | None:
    if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        return "is no plain file"
    if problem := name_problem(name):
        return problem
    if count >= limits.files:
        return f"is beyond {limits.files} files"
    if entry.size > room:
        return f"is beyond the {limits.file_bytes} bytes that all files may have together"
    return None
