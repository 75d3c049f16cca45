"""Tools for agents that work in a folder, as coding agents do (docs/howto/code.md)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Annotated, Any

import whatthepatch
from pydantic import Field

from agents.errors import FolderError
from agents.runtime.files.folder import Folder
from agents.runtime.files.folder_limits import MAX_BYTES, MAX_FILE_BYTES, MAX_FILES
from heartbit_site.base import orm
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.builtin.code import artifact_content, describe, skill_files
from tools.sandbox.choice import find_sandbox
from tools.sandbox.program import Ended, Limits, Program
from tools.texts.path_pattern import fits, parts_of

_TAGS = ("builtin", "folder")
_READ = (Label.PRIVATE, Label.UNTRUSTED)  # given files may contain any text
_SECONDS = 60
_LIMITS = Limits(files=MAX_FILES, file_bytes=MAX_BYTES)
_LONGEST_LIST = 500
_LONGEST_DIFF = 200_000  # parsing takes the library half a second
_OF_A_FILE = re.compile(r"^(?=--- .*\n\+\+\+ )", re.MULTILINE)  # headings of a diff

Path = Annotated[
    str, Field(min_length=1, max_length=200, description="Path in the folder, e.g. src/app.py.")
]
Text = Annotated[str, Field(max_length=1_000_000)]


@tool(effect=Effect.PURE, tags=_TAGS, labels=_READ)
def read(
    context: ToolContext,
    path: Path,
    first_line: Annotated[int, Field(ge=1, description="Line to begin with.")] = 1,
    lines: Annotated[int, Field(ge=1, le=5_000, description="Lines at most.")] = 1_000,
) -> str:
    """Read a text file of the folder, with line numbers."""
    text = _text(Folder.of(context), path)
    found = text.splitlines()
    shown = found[first_line - 1 : first_line - 1 + lines]
    numbered = [f"{number}\t{line}" for number, line in enumerate(shown, first_line)]
    if first_line - 1 + len(shown) < len(found):
        numbered.append(f"[{len(found)} lines in all]")
    return "\n".join(numbered)


@tool(effect=Effect.TRANSACTIONAL, tags=_TAGS, labels=())
def write(context: ToolContext, path: Path, text: Text) -> str:
    """Write a text file of the folder; one that is there is replaced."""
    Folder.of(context).change({path: text.encode()})
    return f"Wrote {path}."


@tool(effect=Effect.TRANSACTIONAL, tags=_TAGS, labels=())
def edit(
    context: ToolContext,
    path: Path,
    old: Annotated[Text, Field(min_length=1, description="The text to replace, exactly.")],
    new: Text,
    *,
    every: Annotated[bool, Field(description="Replace it wherever it occurs.")] = False,
) -> str:
    """Replace a piece of a text file. It has to occur once, unless every is true."""
    folder = Folder.of(context)
    text = _text(folder, path)
    count = text.count(old)
    if count == 0:
        raise FolderError(f"{path} does not contain that text: read it again.")
    if len(text) + count * (len(new) - len(old)) > MAX_FILE_BYTES:
        raise FolderError(
            f"{path} would have more than {MAX_FILE_BYTES} bytes: replace fewer, or with less."
        )
    if count > 1 and not every:
        raise FolderError(
            f"{path} contains that text {count} times: give more of what is around it, or every."
        )
    folder.change({path: text.replace(old, new).encode()})
    return f"Replaced {count} of {count} in {path}."


@tool(effect=Effect.TRANSACTIONAL, tags=_TAGS, labels=())
def patch(
    context: ToolContext,
    diff: Annotated[
        str,
        Field(
            min_length=1,
            max_length=_LONGEST_DIFF,
            description="A unified diff, of several files too.",
        ),
    ],
) -> str:
    """Apply a unified diff to files of the folder: all of it, or nothing."""
    folder = Folder.of(context)
    changed: dict[str, bytes | None] = {}
    room = 2 * MAX_BYTES  # of files before and after: a short diff may name a long file many times
    for one in _changes_of(diff):
        if one.header is None or one.changes is None:
            continue
        old, new = _paths(one.header, folder)
        before = "" if old is None else _text(folder, old)
        try:
            after = whatthepatch.apply_diff(one, before)
        except whatthepatch.exceptions.HunkApplyException as error:
            raise FolderError(
                f"The diff does not fit {old or new}: {error}. Read it again."
            ) from None
        written = "".join(f"{line}\n" for line in after).encode()
        room -= len(before) + len(written)
        if room < 0:
            raise FolderError(
                f"The diff changes more than {MAX_BYTES} bytes of files: apply it in parts."
            )
        if old is not None and old != new:
            changed[old] = None
        if new is not None:
            changed[new] = written
    if not changed:
        raise FolderError("That is not a unified diff: it needs lines with ---, +++ and @@.")
    folder.change(changed)
    return f"Changed {', '.join(sorted(changed))}."


@tool(effect=Effect.PURE, tags=_TAGS, labels=_READ)
def glob(
    context: ToolContext,
    pattern: Annotated[
        str, Field(min_length=1, max_length=200, description="E.g. **/*.py; ** crosses folders.")
    ] = "**",
) -> dict[str, Any] | str:
    """List files of the folder by a pattern, with their sizes in bytes."""
    parts = parts_of(pattern)
    sizes = Folder.of(context).sizes()
    found = {path: size for path, size in sizes.items() if fits(parts, path)}
    if not found:
        return "No file of the folder fits."
    shown = dict(list(found.items())[:_LONGEST_LIST])
    return {"files": shown} | ({"of": len(found)} if len(found) > len(shown) else {})


@tool(effect=Effect.PURE, timeout_seconds=_SECONDS, tags=_TAGS, labels=_READ)
async def grep(
    context: ToolContext,
    pattern: Annotated[
        str, Field(min_length=1, max_length=1_000, description="Extended regular expression.")
    ],
    within: Annotated[
        str, Field(max_length=200, description="Names of files to search, e.g. *.py.")
    ] = "*",
) -> str:
    """Search the files of the folder; the lines found, with path and number."""
    words = ("grep", "-rnIE", f"--include={within}", "--max-count=50", "-e", pattern, ".")
    ended = await _run(context, f"{shlex.join(words)} | head -n {_LONGEST_LIST}")
    return ended.stdout.replace("\n./", "\n").removeprefix("./") or ended.stderr or "Nothing found."


# The script reaches nothing outside, and a repeated call begins with the same folder.
@tool(effect=Effect.IDEMPOTENT, timeout_seconds=_SECONDS, tags=_TAGS, labels=_READ)
async def shell(
    context: ToolContext,
    command: Annotated[str, Field(min_length=1, max_length=20_000, description="Shell script.")],
    skills: Annotated[
        list[str] | None,
        Field(
            max_length=5,
            description="Names of your skills whose files to put there, each in skills/NAME/.",
        ),
    ] = None,
    artifacts: Annotated[
        list[str] | None,
        Field(max_length=20, description="Names of this run's artifacts to put into the folder."),
    ] = None,
) -> dict[str, Any]:
    """Run a shell script in the folder; what it changes there is kept, except in skills.

    It has no network, and 30 seconds. Nothing else is kept: no variables, no other files.
    """
    before = await orm.run_in_thread(lambda: Folder.of(context).files())
    lent: dict[str, bytes] = {}
    for name in skills or ():
        lent |= await orm.run_in_thread(partial(skill_files, context, name))
    put = {name: await _artifact(context, name) for name in artifacts or ()}
    ended = await _run(context, command, before | put, lent)
    if ended.code is None or not ended.is_complete:
        return describe(ended, {})
    after = {path: data for path, data in ended.files.items() if path not in lent}
    gone = [path for path in before if path not in after and path not in lent]
    changed: dict[str, bytes | None] = dict.fromkeys(gone)
    changed |= {path: data for path, data in after.items() if before.get(path) != data}
    await orm.run_in_thread(partial(_change, context, changed))
    return describe(ended, {}) | ({"changed": sorted(changed)[:_LONGEST_LIST]} if changed else {})


@tool(effect=Effect.PURE, tags=_TAGS, labels=())
def keep_file(context: ToolContext, path: Path) -> str:
    """Store a file of the folder as an artifact of this run, to be mailed or given to run_code."""
    if context.store_artifact is None:
        raise FolderError("There are no artifacts here, so the file stays in the folder.")
    name = context.store_artifact(path, Folder.of(context).read(path))
    return f"Stored {path} as the artifact {name}."


async def _artifact(context: ToolContext, name: str) -> bytes:
    content = await orm.run_in_thread(partial(artifact_content, context, name))
    if len(content) > MAX_FILE_BYTES:
        raise FolderError(
            f"The artifact {name!r} has {len(content)} bytes, and a file of the folder at most "
            f"{MAX_FILE_BYTES}: give it to run_code."
        )
    return content


async def _run(
    context: ToolContext,
    script: str,
    files: dict[str, bytes] | None = None,
    lent: Mapping[str, bytes] | None = None,
) -> Ended:
    """Run a script in the folder, with extra files that do not count towards its limits."""
    if files is None:
        files = await orm.run_in_thread(lambda: Folder.of(context).files())
    more = lent or {}
    room = _LIMITS.file_bytes + sum(map(len, more.values()))
    limits = replace(_LIMITS, files=_LIMITS.files + len(more), file_bytes=room)
    sandbox = await find_sandbox()
    return await sandbox.run(Program("shell", script, {**files, **more}, limits))


def _change(context: ToolContext, changed: dict[str, bytes | None]) -> None:
    Folder.of(context).change(changed)


def _text(folder: Folder, path: str) -> str:
    try:
        return folder.read(path).decode()
    except UnicodeDecodeError:
        raise FolderError(f"{path} is not a text file.") from None


def _changes_of(diff: str) -> list[Any]:
    """Return the changes of a diff, one for each file."""
    # Parsed one by one: the library takes the next file's heading for lines of the previous one.
    try:
        return list(chain.from_iterable(map(whatthepatch.parse_patch, _OF_A_FILE.split(diff))))
    except (whatthepatch.exceptions.WhatThePatchException, ValueError) as error:
        raise FolderError(f"The diff cannot be read: {error}. Write a unified diff.") from None


def _paths(header: Any, folder: Folder) -> tuple[str | None, str | None]:
    """Return a file's path before and after a diff; None: there is no such file."""
    paths = (header.old_path, header.new_path)
    old, new = (None if path == "/dev/null" else path for path in paths)
    # The library always removes "a/" and "b/", even if they are folders.
    if old is not None and new is not None and not folder.has(old) and folder.has(new):
        old = new
    return old, new
