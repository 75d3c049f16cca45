"""Tools for files: list, search, read, fetch, write."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from heartbit_site.base.charsets import decode_text
from heartbit_site.base.credentials import S3Credential
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.connectors.drive.files import Drive, DriveError, FileEntry, checked_name
from tools.texts.text_parts import describe_part

Folder = Annotated[str, Field(max_length=500, description="Folder to look below; empty: all.")]
File = Annotated[
    str, Field(min_length=1, max_length=500, description="Name such as reports/2026/may.txt.")
]
# Neither a folder nor a bucket records who wrote a file, or what its author had read.
_LABELS = (Label.PRIVATE, Label.UNTRUSTED)
_SEARCHED_FILES = 100  # whose contents one search reads
_SEARCHED_BYTES = 1_000_000  # of each


@tool(effect=Effect.PURE, timeout_seconds=60, tags=("drive",), labels=_LABELS)
async def list_files(
    context: ToolContext,
    storage: S3Credential | None,
    folder: Folder = "",
    after: Annotated[str, Field(max_length=500, description="Continue after this file.")] = "",
    limit: Annotated[int, Field(ge=1, le=1_000)] = 200,
) -> dict[str, Any]:
    """List the files of the workspace's drive, by name."""
    found = [
        entry for entry in await _drive(context, storage).entries(folder) if entry.name > after
    ]
    return {"files": [_row(entry) for entry in found[:limit]], "more": len(found) > limit}


@tool(effect=Effect.PURE, timeout_seconds=120, tags=("drive",), labels=_LABELS)
async def search_files(
    context: ToolContext,
    storage: S3Credential | None,
    query: Annotated[str, Field(min_length=1, max_length=200, description="Words to find.")],
    *,
    folder: Folder = "",
    contents: Annotated[bool, Field(description="True to read the files' text, too.")] = False,
) -> dict[str, Any]:
    """Find files of the workspace's drive whose name, or text, contains some words."""
    drive, wanted = _drive(context, storage), query.casefold()
    entries = await drive.entries(folder)
    found = [_row(entry) for entry in entries if wanted in entry.name.casefold()]
    named = {row["name"] for row in found}
    rest = [entry for entry in entries if entry.name not in named] if contents else []
    readable = [entry for entry in rest if entry.size <= _SEARCHED_BYTES][:_SEARCHED_FILES]
    for entry in readable:
        text, _ = await asyncio.to_thread(decode_text, await drive.read(entry.name))
        place = text.casefold().find(wanted)
        if place >= 0:
            found.append({**_row(entry), "excerpt": text[max(0, place - 80) : place + 120]})
    return {"files": found[:200], "not_searched": len(rest) - len(readable)}


@tool(effect=Effect.PURE, timeout_seconds=60, tags=("drive",), labels=_LABELS)
async def read_file(
    context: ToolContext,
    storage: S3Credential | None,
    file: File,
    offset: Annotated[int, Field(ge=0, le=1_000_000_000, description="First byte to read.")] = 0,
    length: Annotated[
        int, Field(ge=4, le=1_000_000, description="Bytes to read at most.")
    ] = 32_000,
) -> str:
    """Read a text file of the workspace's drive, or a part of it, in UTF-8."""
    data = await _drive(context, storage).read(file)
    text, problem = await asyncio.to_thread(decode_text, data)
    if "\0" in text[:8_000]:
        raise DriveError(f"{file} is not a text file ({len(data)} bytes): use fetch_file.")
    whole = text.encode()
    part = describe_part(file, whole[offset : offset + length], offset=offset, size=len(whole))
    return f"[{problem}]\n{part}" if problem else part


@tool(effect=Effect.PURE, timeout_seconds=60, tags=("drive",), labels=_LABELS)
async def fetch_file(
    context: ToolContext, storage: S3Credential | None, file: File
) -> dict[str, Any]:
    """Store a file of the workspace's drive as an artifact of this run; return the artifact's name.

    Other tools take it by that name, whatever it holds: to attach it to a mail, to compute with it.
    """
    from heartbit_site.base import orm  # noqa: PLC0415  as in _drive

    if context.store_artifact is None:
        raise DriveError("No artifact store here: files cannot be fetched.")
    name = checked_name(file)
    data = await _drive(context, storage).read(name)
    store = partial(context.store_artifact, name.rpartition("/")[2], data)
    return {"artifact": await orm.run_in_thread(store), "size": len(data)}


@tool(
    effect=Effect.IDEMPOTENT,
    timeout_seconds=60,
    tags=("drive",),
    labels=(Label.OUTBOUND,),
    summary="Write the file {file}",
)
async def write_file(
    context: ToolContext,
    storage: S3Credential | None,
    file: File,
    *,
    text: Annotated[str | None, Field(description="Content; or give an artifact.")] = None,
    artifact: Annotated[
        str | None,
        Field(max_length=200, description="Name of an artifact of this run to write whole."),
    ] = None,
    replace: Annotated[bool, Field(description="True to replace a file of that name.")] = False,
) -> str:
    """Write a file of the workspace's drive: a text of yours, or a stored artifact."""
    if (text is None) == (artifact is None):
        raise DriveError("Give either a text or an artifact.")
    if text is not None:
        data = text.encode()
    elif context.read_artifact is None:
        raise DriveError("No artifact store here: give a text.")
    else:
        from heartbit_site.base import orm  # noqa: PLC0415  as in _drive

        data = await orm.run_in_thread(partial(context.read_artifact, str(artifact)))
    name = checked_name(file)
    await _drive(context, storage).write(name, data, replace=replace)
    return f"Wrote {name} ({len(data)} bytes)."


def _drive(context: ToolContext, storage: S3Credential | None) -> Drive:
    # Imported here: every command imports this module for its tools' definitions.
    if storage is None:
        from tools.connectors.drive.folder import workspace_drive  # noqa: PLC0415

        return workspace_drive(context.workspace_id)
    from tools.connectors.drive.bucket import BucketDrive  # noqa: PLC0415

    return BucketDrive(context.http, storage)


def _row(entry: FileEntry) -> dict[str, Any]:
    modified = entry.modified.isoformat(timespec="seconds")
    return {"name": entry.name, "size": entry.size, "modified": modified}
