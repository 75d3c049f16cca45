"""The sandbox ``bubblewrap``: what runs in it, and what does not get out."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from heartbit_site.base.scratch import ScratchFolder
from tests.tools.sandbox.processes import wait_for
from tools.sandbox import bubblewrap as module
from tools.sandbox import control_groups, launcher, walls
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.languages import Interpreter
from tools.sandbox.probe import has_held, probe
from tools.sandbox.program import Ended, Language, Limits, Program, SandboxError

TYPED = """
import { readFileSync } from "node:fs"
interface Found { text: string; n?: number }
function add<T extends number>(a: T, b: T): number { return a + b }
const found: Found = { text: readFileSync("helper.py", "utf8") }
console.log(`${found.text}, ${add(40, 2) as number}`)
"""


async def run(
    code: str, language: Language = "python", files: dict[str, bytes] | None = None, **how: object
) -> Ended:
    limits = how.pop("limits", Limits())
    assert isinstance(limits, Limits)
    return await Bubblewrap().run(Program(language, code, files or {}, limits))


@pytest.mark.parametrize(
    ("language", "code", "output"),
    [
        ("python", "import json, math\nprint(math.pi)", "3.141592653589793\n"),
        ("python", "import helper\nprint(helper.x)", "7\n"),
        ("shell", "cat helper.py | tr x y", "y = 7\n"),
        ("javascript", "console.log(require('fs').readFileSync('helper.py', 'utf8'))", "x = 7\n"),
        ("javascript", "import fs from 'fs'\nconsole.log(await 3)", "3\n"),
        ("typescript", TYPED, "x = 7, 42\n"),
    ],
)
async def test_programs_see_their_folder_and_print(
    language: Language, code: str, output: str
) -> None:
    ended = await run(code, language, {"helper.py": b"x = 7"})
    assert (ended.code, ended.stderr, ended.ending) == (0, "", "exited")
    assert ended.stdout.strip() == output.strip()
    assert ended.sandbox == "bubblewrap"


async def test_exit_codes_errors_and_signals_are_told_apart() -> None:
    assert (await run("raise SystemExit(3)")).code == 3
    failed = await run("1 / 0")
    assert failed.code == 1
    assert failed.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert (await run("import os\nos.kill(os.getpid(), 9)")).code == 137


async def test_a_program_that_leaves_no_room_for_a_process_was_started_all_the_same() -> None:
    """Its files cannot be packed then, which is no failure of the sandbox."""
    code = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    while os.fork():
        pass
    signal.pause()
except OSError:
    print("full", flush=True)
    os._exit(0)
"""
    ended = await run(code, limits=Limits(processes=8, seconds=5))
    assert ended.stdout == "full\n"
    assert (ended.code, ended.files) in ((0, {}), (2, {}))


async def test_files_go_in_and_come_out() -> None:
    code = """
import os
os.makedirs("a/b")
open("a/b/out.bin", "wb").write(bytes(range(256)))
open("kept.txt", "a").write("!")
os.symlink("/etc/passwd", "link")
os.mkfifo("pipe")
os.link("kept.txt", "second name")
open("-rf", "w").write("a")
open("line\\nbreak", "w").write("b")
"""
    ended = await run(code, files={"kept.txt": b"yes", "deep/er/x": b"\0"})
    assert ended.code == 0, ended.stderr
    assert ended.files["a/b/out.bin"] == bytes(range(256))
    assert b"yes!" in (ended.files.get("kept.txt"), ended.files.get("second name"))
    assert ended.files["deep/er/x"] == b"\0"
    assert ended.files["-rf"] == b"a"
    assert set(ended.files) <= {"a/b/out.bin", "kept.txt", "second name", "deep/er/x", "-rf"}
    assert len(ended.refused) == 4


@pytest.mark.parametrize("name", ["../x", "/x", "a/../b", "", "a//b", "a\\b", "x" * 201, "a\nb"])
async def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(SandboxError):
        await run("1", files={name: b""})


async def test_more_files_than_allowed_are_left_out_with_a_sentence() -> None:
    many = "for n in range(9): open(str(n), 'w').write('x' * 100)"
    ended = await run(many, limits=Limits(files=3))
    assert len(ended.files) == 3
    assert len(ended.refused) == 6
    ended = await run(many, limits=Limits(file_bytes=250))
    assert len(ended.files) == 2


async def test_a_sandbox_that_lets_things_through_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bubblewrap that only pretends: it runs what follows ``--`` as it is."""
    program = tmp_path / "bwrap"
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "$@"\n')
    program.chmod(0o755)
    (tmp_path / "hidden").write_text("/etc/passwd")
    (tmp_path / "usual").touch()
    monkeypatch.setattr(module, "bubblewrap", lambda: str(program))
    monkeypatch.setattr(module, "_as_own_user", list)
    monkeypatch.setattr(module, "SHELL", "/bin/sh")
    inside = f'cd {tmp_path}; "$@" </dev/null; code=$?; echo x >&0; exit $code'
    monkeypatch.setattr(module, "_INSIDE", inside)
    interpreter = Interpreter(("python3", "-c", probe().code), "")
    monkeypatch.setattr(module, "interpreter_for", lambda _: interpreter)
    problem = str(await Bubblewrap().problem())
    assert "does not work" in problem
    assert "/etc/passwd" in problem
    assert "sockets of the host" in problem


def test_a_sandbox_in_which_the_probe_did_not_run_does_not_hold() -> None:
    ended = Ended(0, "exited", "", "", {}, (), "bubblewrap", 0.0)
    assert [has_held(replace(ended, stdout=text)) for text in ("held\n", "")] == [True, False]


async def test_a_missing_bubblewrap_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "bubblewrap", lambda: "/nowhere/bwrap")
    with pytest.raises(SandboxError):
        await run("print(1)")
    assert await Bubblewrap().problem() is not None


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access("/sys/fs/cgroup/memory", os.W_OK),
    reason="no control group of version 1 can be made here",
)
async def test_no_control_group_is_left_and_the_next_program_finds_one_ready() -> None:
    await run("print(1)")
    await anyio.sleep(0)
    [ready] = launcher._waiting
    before = _groups()
    ended = await run("import time\ntime.sleep(60)", limits=Limits(seconds=0.2))
    assert ended.ending == "out of time"
    await anyio.sleep(0)
    assert launcher._waiting != [ready], "it was used, and another one made"
    await run("print(1)")
    await anyio.sleep(0)
    wait_for(lambda: control_groups._remove_left() or len(_groups()) <= len(before))
    launcher._close_waiting()
    assert not ready.is_ready


async def test_a_launcher_that_was_killed_is_not_used() -> None:
    launcher.prepare()
    for one in launcher._waiting:
        one._process.kill()
        one._process.wait()
    assert (await run("print(1)")).stdout == "1\n"


async def test_groups_of_killed_workers_are_removed(tmp_path: Path) -> None:
    (tmp_path / "memory" / "heartbit-4000000-x").mkdir(parents=True)
    (tmp_path / "memory" / f"heartbit-{os.getpid()}-x").mkdir()
    control_groups.ControlGroup(tmp_path)
    left = {place.name for place in (tmp_path / "memory").iterdir()}
    assert left == {f"heartbit-{os.getpid()}-x"}


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (1, {"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096"}),
        (2, {"memory.max": "4096", "memory.swap.max": "0"}),
    ],
)
def test_a_group_limits_memory_and_swap(
    tmp_path: Path, version: int, files: dict[str, str]
) -> None:
    (tmp_path / ("memory" if version == 1 else "cgroup.controllers")).mkdir()
    group = control_groups.ControlGroup(tmp_path)
    group.directory = tmp_path  # the kernel would have made the files in the group's own
    for name in files:
        (tmp_path / name).touch()
    group.limit(4096)
    assert {name: (tmp_path / name).read_text() for name in files} == files
    group.directory = None


def test_the_copy_of_bubblewrap_is_removed_by_the_process_that_made_it() -> None:
    copy = ScratchFolder("test")
    walls._remove(copy, os.getpid() + 1)
    assert copy.path.exists(), "a fork has ended"
    walls._remove(copy, os.getpid())
    assert not copy.path.exists()


async def test_many_programs_at_once_have_a_processor_each_and_their_own_output() -> None:
    ended: dict[int, str] = {}
    nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + launcher.NICER)

    async def one(number: int) -> None:
        code = f"import os\nprint({number}, len(os.sched_getaffinity(0)), os.getpriority(0, 0))"
        ended[number] = (await run(code)).stdout

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(one, number)
    assert ended == {number: f"{number} 1 {nice}\n" for number in range(12)}


def _groups() -> set[Path]:
    return set(Path("/sys/fs/cgroup/memory").glob(f"heartbit-{os.getpid()}-*"))


pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the filter of system calls is for x86-64"
)
