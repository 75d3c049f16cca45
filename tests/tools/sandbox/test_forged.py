"""Archives that nobody packed, out of the walls of a sandbox: each costs a bounded time."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from heartbit_site.base.archives import ArchiveLimits, RefusedFilesError
from heartbit_site.base.archives import unpack as unpack_given
from tests.pace import in_time
from tests.sizes import sized
from tests.tools.sandbox import forged
from tests.tools.sandbox.beside import MEGABYTES, SECONDS, beside
from tests.tools.sandbox.engine import IMAGE, Engine, engine
from tools.sandbox import bubblewrap as module
from tools.sandbox import wire
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.docker import Docker
from tools.sandbox.folder import ENTRIES, FolderReader, Unpacked, unpack
from tools.sandbox.program import MEGABYTE, Limits, Program, SandboxError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tools.sandbox.program import Ended

LIMITS = Limits(file_bytes=1_000_000, disk_bytes=MEGABYTE)
MOST = 24 * MEGABYTE  # more than an archive may have by these limits
LAST = "last/" + "ü" * 80
#: Those that are played through every sandbox each time; `make security` plays all.
FEW = ("a negative size", "many entries", "endless headers", "half of a file")
NAMES = tuple(forged.FORGED) if sized(0, full=1) else FEW


def read(data: bytes, seed: str) -> Unpacked:
    """Read an archive in pieces of all sizes."""
    pieces = random.Random(seed)  # noqa: S311  sizes of pieces
    reader = FolderReader(LIMITS)
    at = 0
    while at < len(data):
        step = pieces.choice((1, 511, 512, 513, 65_536, 65_536, 65_536, 65_536))
        if not reader.feed(data[at : at + step]):
            break
        at += step
    return reader.finish()


@pytest.mark.parametrize("name", forged.FORGED)
def test_an_archive_that_is_none_leaves_one_sentence_however_it_arrives(name: str) -> None:
    data = forged.forged(name)[:MOST]
    found = read(data, name)
    assert not found.is_complete
    [sentence] = found.refused
    assert sentence.startswith("The files could not be read, and none is kept: in their archive, ")
    assert f"may leave {ENTRIES:,} files and folders" in sentence
    whole = unpack(data, LIMITS)
    assert (whole.files, whole.is_complete) == ({}, False)
    with pytest.raises(RefusedFilesError):
        unpack_given(data, ArchiveLimits(files=500, file_bytes=MEGABYTE, bytes=32 * MEGABYTE))


@pytest.mark.parametrize("name", forged.ODD)
def test_what_is_no_plain_file_is_named_and_its_neighbours_are_kept(name: str) -> None:
    data = forged.odd(name)
    for found in (read(data, name), unpack(data, LIMITS)):
        assert found.is_complete
        assert found.files == {"first": b"kept", LAST: b"kept"}
        assert len(found.refused) == 1


def program(name: str) -> str:
    """A Python program that prints the archive."""
    return f"""{Path(forged.__file__).read_text()}
import sys
sys.stdout.buffer.write(forged({name!r}))
"""


@pytest.mark.paced
@pytest.mark.parametrize("name", NAMES)
async def test_a_program_that_writes_in_the_place_of_its_shell_holds_up_nobody(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """The walls keep a program from its shell; this shell lets the program write the archive."""
    inside = 'cd /box; {bridge} echo >&0; "$@" </dev/null >&0; exit 0'
    monkeypatch.setattr(module, "_INSIDE", inside)
    async with beside() as felt:
        ended = await Bubblewrap().run(Program("python", program(name)))
    felt.note(record_property)
    assert (ended.code, ended.files, ended.is_complete) == (0, {}, False)
    assert "none is kept" in ended.refused[0]
    assert felt.megabytes < MEGABYTES
    in_time(felt.waited, SECONDS)


@pytest.mark.paced
async def test_programs_that_leave_too_many_files_hold_up_nobody_and_are_told(
    record_property: Callable[[str, object], None],
) -> None:
    many = sized(2 * ENTRIES, full=250_000)
    code = f"for name in range({many}):\n    open(str(name), 'w').close()\nprint('left')"
    ended: list[Ended] = []

    async def one() -> None:
        ended.append(await Bubblewrap().run(Program("python", code)))

    async with beside() as felt, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(one)
    felt.note(record_property)
    assert [(one.code, one.stdout, one.files) for one in ended] == 3 * [(0, "left\n", {})]
    assert {one.refused for one in ended} == {
        (
            "The files could not be read, and none is kept: in their archive, it has more than "
            "10000 entries. A program may leave 10,000 files and folders: remove what is not "
            "needed.",
        )
    }
    assert felt.megabytes < MEGABYTES
    in_time(felt.waited, SECONDS)


async def test_a_program_ends_neither_its_shell_nor_what_packs_its_files() -> None:
    code = """
import os, time
open("kept", "w").write("x")
for process in (1, os.getppid(), -1):
    try:
        os.kill(process, 9)
    except ProcessLookupError:
        pass
if os.fork() == 0:
    while True:  # a process that waits for the shell to pack
        for name in filter(str.isdigit, os.listdir("/proc")):
            if int(name) not in (1, os.getpid(), os.getppid()):
                os.kill(int(name), 9)
print("left", flush=True)
os._exit(3)
"""
    ended = await Bubblewrap().run(Program("python", code))
    assert (ended.code, ended.stdout, ended.files) == (3, "left\n", {"kept": b"x"})


@pytest.fixture
async def played() -> AsyncIterator[Engine]:
    place = Path(tempfile.mkdtemp(prefix="hb-"))  # as short as the path of a socket has to be
    async with engine(place) as found:
        yield found
    shutil.rmtree(place)


@pytest.mark.paced
@pytest.mark.parametrize("name", NAMES)
async def test_a_container_that_answers_with_it_holds_up_nobody(
    name: str, played: Engine, record_property: Callable[[str, object], None]
) -> None:
    played.forged = forged.forged(name)
    async with beside() as felt:
        with pytest.raises(SandboxError, match="did not run the program"):
            await Docker(IMAGE, played.url).run(Program("python", "1"))
    felt.note(record_property)
    assert felt.megabytes < MEGABYTES
    in_time(felt.waited, SECONDS)


@pytest.mark.parametrize("name", FEW)
def test_a_runner_that_answers_with_it_gives_no_file(name: str) -> None:
    folder = base64.b64encode(forged.forged(name)[:MOST]).decode()
    ended = wire.read_end(answer(folder=folder), Limits(), sandbox="remote", seconds=1)
    assert (ended.files, ended.is_complete) == ({}, False)
    with pytest.raises(ValueError, match="folder: The files could not be read"):
        wire.read_program(json.dumps({"language": "shell", "code": "", "folder": folder}).encode())


def test_a_runner_that_answers_with_millions_of_values_is_not_read() -> None:
    with pytest.raises(SandboxError, match="it has too many values"):
        wire.read_end(answer(refused=[""] * 3_000_000), Limits(), sandbox="remote", seconds=1)
    many = answer(stdout="," * MEGABYTE, stderr="," * MEGABYTE)
    assert wire.read_end(many, Limits(), sandbox="remote", seconds=1).stdout == "," * MEGABYTE


def test_what_a_runner_could_not_read_is_told_on() -> None:
    """A complete answer has no word that an older worker would refuse."""
    ended = wire.read_end(answer(), Limits(), sandbox="remote", seconds=1)
    assert b"is_complete" not in wire.write_end(ended)
    told = wire.write_end(replace(ended, is_complete=False))
    assert not wire.read_end(told, Limits(), sandbox="remote", seconds=1).is_complete


def test_the_largest_answer_of_a_program_fits() -> None:
    limits = Limits(files=500, file_bytes=MEGABYTE, output_bytes=10_000)
    files = {f"{n:03}/{'ü' * 190}": bytes(2_000) for n in range(500)}
    ended = replace(
        wire.read_end(answer(), limits, sandbox="remote", seconds=1),
        files=files,
        stdout="\0" * 10_000,
        stderr="\0" * 10_000,
    )
    body = wire.write_end(ended)
    assert len(body) <= wire.answer_bytes(limits)
    assert wire.read_end(body, limits, sandbox="remote", seconds=1).files == files


def answer(**parts: Any) -> bytes:
    """A runner's answer."""
    usual = {"code": 0, "ending": "exited", "stdout": "", "stderr": "", "folder": "", "refused": []}
    return json.dumps({**usual, **parts}).encode()


pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the filter of system calls is for x86-64"
)
