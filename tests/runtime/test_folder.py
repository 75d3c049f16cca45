"""The folder that a run tree works in: what calls leave there, and who begins with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.run_request import start_conversation
from agents.agent_tools import edit, glob, grep, patch, read, shell, write
from agents.agent_tools import folder as tools_of_folder
from agents.choices import Placement, RunStatus
from agents.errors import FolderError
from agents.models import Agent, Run, WorkFile
from agents.runs.archive import tree_lines
from agents.runtime.files import folder as module
from agents.runtime.files.folder import Folder
from agents.runtime.files.folder_limits import MAX_FILE_BYTES
from heartbit_site.base import orm
from heartbit_site.base.toolspec import ToolContext
from tests.runtime.test_conversations import Voice
from tests.security.measured import MOST_MEGABYTES, measured
from tests.sizes import sized
from tests.starts import fork_run
from tools.sandbox.choice import find_sandbox
from tools.sandbox.folder import ENTRIES
from tools.sandbox.program import Limits

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
TOOLS = ("read", "write", "edit", "patch", "glob", "grep", "shell")
WRITE = '[[calls: write {"path": "a/b.txt", "text": "one\\ntwo\\n"}]]'


def context_of(run: Run, call: str = "9.0") -> ToolContext:
    http: Any = None
    key = f"{run.pk}:{call}"
    return ToolContext(run.workspace_id, run.pk, run.root_id, run.agent, call, key, http)


def files_of(run: Run) -> dict[str, bytes]:
    return Folder(run.root_id, "none").files()


async def made(studio: Studio, agent: Create, task: str) -> Run:
    await orm.run_in_thread(lambda: agent(tools=TOOLS))
    run = await studio.run(task)
    assert run.status == RunStatus.SUCCEEDED, run.error
    return run


@pytest.fixture
async def run(studio: Studio, agent: Create) -> Run:
    """A run that has written ``a/b.txt``."""
    return await made(studio, agent, f"{WRITE} [[text: Done.]]")


async def in_thread(call: Callable[[], Any]) -> Any:
    return await orm.run_in_thread(call)


async def test_files_are_written_read_and_listed(run: Run) -> None:
    def check() -> None:
        context = context_of(run)
        assert read(context, "a/b.txt") == "1\tone\n2\ttwo"
        assert read(context, "a/b.txt", 2, 1) == "2\ttwo"
        assert read(context, "a/b.txt", 1, 1) == "1\tone\n[2 lines in all]"
        write(context_of(run, "9.1"), "c.py", "print(1)\n")
        assert glob(context) == {"files": {"a/b.txt": 8, "c.py": 9}}
        assert glob(context, "*.py") == {"files": {"c.py": 9}}
        assert glob(context, "**/*.txt") == {"files": {"a/b.txt": 8}}
        assert glob(context, "?.py") == {"files": {"c.py": 9}}
        assert glob(context, "a.py") == "No file of the folder fits."

    await in_thread(check)


async def test_a_piece_is_replaced_if_it_is_the_only_one(run: Run) -> None:
    def check() -> None:
        edit(context_of(run, "9.1"), "a/b.txt", "one", "uno\nuno")
        assert files_of(run)["a/b.txt"] == b"uno\nuno\ntwo\n"
        for old in ("three", "uno"):
            with pytest.raises(FolderError):
                edit(context_of(run, "9.2"), "a/b.txt", old, "x")
        edit(context_of(run, "9.3"), "a/b.txt", "uno", "1", every=True)
        assert files_of(run)["a/b.txt"] == b"1\n1\ntwo\n"

    await in_thread(check)


async def test_a_diff_changes_adds_renames_and_deletes_files(run: Run) -> None:
    diff = """
--- a/a/b.txt
+++ b/a/c.txt
@@ -1,2 +1,2 @@
 one
-two
+zwei
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,1 @@
+new
"""

    def check() -> None:
        patch(context_of(run, "9.1"), diff)
        assert files_of(run) == {"a/c.txt": b"one\nzwei\n", "new.txt": b"new\n"}
        for wrong in (diff, "--- a/new.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-old\n+x\n", "no diff"):
            with pytest.raises(FolderError):
                patch(context_of(run, "9.2"), wrong)
        assert files_of(run) == {"a/c.txt": b"one\nzwei\n", "new.txt": b"new\n"}

    await in_thread(check)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a//b", "a/./b", "a\nb", "\x00"])
async def test_a_path_that_leads_elsewhere_is_refused(run: Run, path: str) -> None:
    def check() -> None:
        with pytest.raises(FolderError):
            write(context_of(run, "9.1"), path, "x")
        with pytest.raises(FolderError):
            read(context_of(run, "9.1"), path.replace("\0", "0"))

    await in_thread(check)


async def test_a_replacement_that_multiplies_is_refused_before_it_is_made(run: Run) -> None:
    def check() -> None:
        write(context_of(run, "9.1"), "x", "a" * 1_000_000)
        with pytest.raises(FolderError, match="would have more than"):
            edit(context_of(run, "9.2"), "x", "a", "b" * 1_000_000, every=True)
        with pytest.raises(FolderError, match="The diff cannot be read"):
            patch(context_of(run, "9.3"), "***************\n*** 1 ****\n--- 1 ----\n" * 9)

    await in_thread(check)


async def test_too_much_is_refused_and_nothing_is_written(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check() -> None:
        folder = Folder(run.root_id, "call")
        with pytest.raises(FolderError):
            folder.change({"x": bytes(MAX_FILE_BYTES + 1)})
        for name, most in (("MAX_FILES", 1), ("MAX_BYTES", 10), ("MAX_HISTORY_BYTES", 10)):
            with monkeypatch.context() as patched:
                patched.setattr(module, name, most)
                with pytest.raises(FolderError):
                    folder.change({"x": b"12345"})
        assert files_of(run) == {"a/b.txt": b"one\ntwo\n"}

    await in_thread(check)


async def test_a_short_call_that_makes_a_long_text_is_refused_before_it_is_made(run: Run) -> None:
    """47,000 pieces of 47,000 characters would be 2.2 GB."""
    pieces = "a" * sized(4_000, full=47_000)
    heads = "".join(
        f"--- /dev/null\n+++ b/{n}.txt\n@@ -0,0 +1 @@\n+x\n"
        f"--- a/big.txt\n+++ b/{n}.txt\n@@ -1 +1 @@\n-x\n+y\n"
        for n in range(40)
    )

    def check() -> None:
        Folder(run.root_id, "9.0").change(
            {"a.txt": pieces.encode(), "big.txt": b"x\n" + (b"y" * 999 + b"\n") * 4_000}
        )
        before = files_of(run)
        with measured() as amounts:
            with pytest.raises(FolderError, match=r"a.txt would have more than \d+ bytes"):
                edit(context_of(run, "9.1"), "a.txt", "a", "b" * 47_000, every=True)
            with pytest.raises(FolderError, match="changes more than 33554432 bytes of files"):
                patch(context_of(run, "9.2"), heads)
        assert amounts.megabytes < MOST_MEGABYTES, str(amounts)
        assert files_of(run) == before

    await in_thread(check)


async def test_a_script_runs_in_the_folder_and_its_changes_stay(run: Run) -> None:
    script = "cat a/b.txt; rm a/b.txt; mkdir d; echo new > d/e.txt; exit 3"
    done = await shell(context_of(run), script)
    assert (done["exit_code"], done["stdout"]) == (3, "one\ntwo\n")
    assert done["changed"] == ["a/b.txt", "d/e.txt"]
    assert await in_thread(lambda: files_of(run)) == {"d/e.txt": b"new\n"}


async def test_a_script_that_is_repeated_begins_with_what_it_began_with(run: Run) -> None:
    """As after a crash between its end and its result."""
    for _ in range(3):
        await shell(context_of(run, "9.1"), "echo three >> a/b.txt")
    assert await in_thread(lambda: files_of(run)) == {"a/b.txt": b"one\ntwo\nthree\n"}
    await shell(context_of(run, "9.2"), "echo four >> a/b.txt")
    assert (await in_thread(lambda: files_of(run)))["a/b.txt"].endswith(b"three\nfour\n")


async def test_a_script_that_is_ended_changes_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_of_folder, "_LIMITS", Limits(seconds=1, output_bytes=1_000))
    for script in ("rm a/b.txt; sleep 60", "rm a/b.txt; yes"):
        done = await shell(context_of(run), script)
        assert done["ended"]
    assert await in_thread(lambda: files_of(run)) == {"a/b.txt": b"one\ntwo\n"}


async def test_a_script_whose_files_cannot_be_read_changes_nothing(run: Run) -> None:
    """Nobody knows which files it deleted, and which are among those that were not read."""
    script = f"rm a/b.txt; mkdir d; cd d; seq {ENTRIES} | xargs touch"
    shown = await shell(context_of(run, "9.7"), script)
    assert "none is kept" in shown["not_kept"][0]
    assert "changed" not in shown
    assert await in_thread(lambda: files_of(run)) == {"a/b.txt": b"one\ntwo\n"}


async def test_lines_are_found(run: Run) -> None:
    assert await grep(context_of(run), "t.o") == "a/b.txt:2:two\n"
    assert await grep(context_of(run), "two", "*.py") == "Nothing found."
    assert await grep(context_of(run), "'; touch x; echo '") == "Nothing found."
    assert "Unmatched" in await grep(context_of(run), "(")


async def test_sub_agents_work_in_the_same_folder_and_other_runs_do_not(
    studio: Studio, agent: Create
) -> None:
    def team() -> None:
        helper = agent("helper", tools=TOOLS)
        lead = agent("lead", tools=TOOLS)
        lead.team.add(helper)
        from agents.actions.publish_agent import publish_agent  # noqa: PLC0415

        publish_agent(lead)

    await in_thread(team)
    inner = json.dumps([{"agent": "helper", "task": f"{WRITE} [[text: Written.]]"}])[1:-1]
    run = await studio.run(f"[[delegate: {inner}]] [[text: All done.]]", agent="lead")
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert await in_thread(lambda: files_of(run)) == {"a/b.txt": b"one\ntwo\n"}
    other = await studio.run("[[text: Nothing.]]", agent="lead")
    assert await in_thread(lambda: files_of(other)) == {}


async def test_a_fork_begins_with_the_folder_as_it_was_at_its_turn(
    studio: Studio, agent: Create
) -> None:
    task = f'{WRITE} [[then: write {{"path": "a/b.txt", "text": "later"}}]] [[text: Done.]]'
    run = await made(studio, agent, task)

    def check() -> None:
        forked = Run.objects.get(pk=fork_run(run, 1, home=Placement.LOCAL))
        assert files_of(forked) == {"a/b.txt": b"one\ntwo\n"}
        whole = Run.objects.get(pk=fork_run(run, 2, home=Placement.LOCAL))
        assert files_of(whole) == {"a/b.txt": b"later"}
        again = Run.objects.get(pk=fork_run(run, 0, home=Placement.LOCAL))
        assert files_of(again) == {}
        write(context_of(forked), "a/b.txt", "other")
        assert files_of(run) == {"a/b.txt": b"later"}

    await in_thread(check)


async def test_a_run_of_a_conversation_begins_with_the_folder_of_the_run_before(
    studio: Studio, agent: Create
) -> None:
    await in_thread(lambda: agent(tools=TOOLS))
    thread = await in_thread(lambda: start_conversation(studio.workspace, agent="solo"))
    voice = Voice(studio, thread)
    first = await voice.say(f"{WRITE} [[text: Written.]]")
    second = await voice.say('[[calls: shell {"command": "rm a/b.txt; echo 2 > c"}]] [[text: x]]')
    assert second.status == RunStatus.SUCCEEDED, second.error
    third = await voice.say('[[calls: shell {"command": "cat c"}]] [[text: Read.]]')
    assert await in_thread(lambda: files_of(first)) == {"a/b.txt": b"one\ntwo\n"}
    assert await in_thread(lambda: files_of(second)) == {"c": b"2\n"}
    assert await in_thread(lambda: files_of(third)) == {"c": b"2\n"}


async def test_it_is_archived_and_deleted_with_its_run(run: Run) -> None:
    def check() -> None:
        [line] = [json.loads(line) for line in tree_lines([run.root_id])]
        [file] = line["files"]
        assert (file["path"], file["size"], file["content"]) == ("a/b.txt", 8, "b25lCnR3bwo=")
        assert WorkFile.objects.filter(root=run).exists()

    await in_thread(check)


async def test_the_sandbox_is_the_installation_s() -> None:
    assert (await find_sandbox()).name == "bubblewrap"
