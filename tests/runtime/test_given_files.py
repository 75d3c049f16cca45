"""Files in and out of a run's folder: what a person gave at its start, and artifacts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.runs import retry_run
from agents.actions.start_conversation import start_conversation
from agents.agent_tools import folder as tools_of_folder
from agents.agent_tools import keep_file, shell
from agents.choices import Placement, RunStatus
from agents.errors import FolderError
from agents.live.follow import wait_for_end
from agents.models import Agent, Artifact, Run
from agents.runtime.files.folder import Folder
from agents.runtime.toolset.call_context import context_factory
from heartbit_site.base import orm
from heartbit_site.base.audit import NOBODY
from tests.starts import fork_run, post_message, start_run

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.toolspec import ToolContext
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
TOOLS = ("read", "write", "shell", "keep_file", "run_code")
GIVEN = {"data.csv": b"a,b\n1,2\n", "src/app.py": b"print(1)\n"}
IDLE = "[[text: Done.]]"


def files_of(run: Run) -> dict[str, bytes]:
    return Folder(run.root_id, "none").files()


def context_of(run: Run, call: str = "9.0") -> ToolContext:
    http: Any = None
    return context_factory(
        workspace_id=run.workspace_id,
        run_id=run.pk,
        root_id=run.root_id,
        agent=run.agent,
        http=http,
    )(call)


async def run_with(studio: Studio, task: str, files: dict[str, bytes]) -> Run:
    def start() -> UUID:
        return start_run(
            studio.workspace,
            task,
            agent="solo",
            model="openai:fake",
            home=Placement.LOCAL,
            files=files,
        )

    run_id = await orm.run_in_thread(start)
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.SUCCEEDED, run.error
    return run


async def test_an_agent_works_with_what_a_person_gave(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=TOOLS))
    command = {"command": "python3 src/app.py; cat data.csv; echo new > data.csv"}
    task = f"[[calls: shell {json.dumps(command)}]] {IDLE}"
    run = await run_with(studio, task, GIVEN)

    def check() -> None:
        [call] = run.calls.all()
        assert json.loads(call.result or "")["stdout"] == "1\na,b\n1,2\n"
        assert files_of(run) == GIVEN | {"data.csv": b"new\n"}
        again = Run.objects.get(pk=retry_run(run, by=NOBODY, home=Placement.LOCAL))
        forked = Run.objects.get(pk=fork_run(run, 0, home=Placement.LOCAL))
        assert files_of(again) == files_of(forked) == GIVEN

    await orm.run_in_thread(check)


async def test_a_file_that_the_folder_cannot_have_starts_no_run(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=TOOLS))
    with pytest.raises(FolderError, match=r"The path '\.\./x' is not a plain relative path\."):
        await run_with(studio, IDLE, {"../x": b""})
    assert not await Run.objects.filter(workspace=studio.workspace).aexists()


async def test_in_a_conversation_they_replace_those_of_the_run_before(
    studio: Studio, agent: Create
) -> None:
    """Given while the run before is still to write its own."""

    def post() -> tuple[Run, Run]:
        agent(tools=TOOLS)
        thread = start_conversation(studio.workspace, agent="solo")
        posted = [
            post_message(thread, IDLE, home=Placement.LOCAL, model="openai:fake") for _ in range(2)
        ]
        first, second = (Run.objects.get(pk=one.run_id) for one in posted)
        Folder.give(second.pk, GIVEN)
        Folder(first.pk, f"{first.pk}:1.0").change({"data.csv": b"old", "notes.txt": b"kept"})
        return first, second

    first, second = await orm.run_in_thread(post)
    found = await orm.run_in_thread(lambda: files_of(second))
    assert found == GIVEN | {"notes.txt": b"kept"}
    for run in (first, second):
        studio.host.execute(run.pk)
        await wait_for_end(run.pk, studio.host.window)


async def test_an_artifact_is_put_into_the_folder_and_a_file_kept_as_one(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(lambda: agent(tools=TOOLS))
    made = {"language": "shell", "code": "head -c 300 /dev/zero > zeros.bin"}
    run = await studio.run(f"[[calls: run_code {json.dumps(made)}]] {IDLE}")
    [artifact] = await orm.run_in_thread(lambda: list(Artifact.objects.filter(run=run)))
    context = context_of(run)
    done = await shell(context, f"wc -c < {artifact.name}", artifacts=[artifact.name])
    assert (done["stdout"], done["changed"]) == ("300\n", [artifact.name])

    def keep() -> Artifact:
        Folder.of(context_of(run, "9.1")).change({"out/r.csv": b"1,2\n"})
        sentence = keep_file(context_of(run, "9.2"), "out/r.csv")
        kept = Artifact.objects.get(run=run, name__endswith="-out_r.csv")
        assert sentence == f"Stored out/r.csv as the artifact {kept.name}."
        with pytest.raises(FolderError, match=r"There is no file 'none\.csv'"):
            keep_file(context_of(run, "9.3"), "none.csv")
        return kept

    kept = await orm.run_in_thread(keep)
    assert (bytes(kept.content), kept.content_type) == (b"1,2\n", "text/csv")
    monkeypatch.setattr(tools_of_folder, "MAX_FILE_BYTES", 100)
    with pytest.raises(FolderError, match="has 300 bytes, and a file of the folder at most 100"):
        await shell(context_of(run, "9.4"), "true", artifacts=[artifact.name])
