"""Results that are too long for the model: stored whole, shown by their beginning, read on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agents.agent_tools.artifacts import read_artifact
from agents.choices import RunStatus
from agents.models import Agent, Artifact, Run, ToolCall
from agents.reads.artifacts import find_artifact, produced_below
from agents.runs.archive import tree_lines
from agents.runtime.toolset import big_results
from agents.runtime.toolset.big_results import READER, BigResults
from agents.runtime.toolset.toolbox import RunToolbox
from heartbit_site.base import orm
from heartbit_site.base.toolspec import ToolContext
from tests.starts import fork_run
from tools.calls.result import answer

if TYPE_CHECKING:
    import pytest

    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
WHOLE = "é" * 1_000
TASK = (
    f'[[calls: blackboard_write {{"key": "k", "value": "{WHOLE}"}}]]'
    '[[then: blackboard_read {"key": "k"}]] [[text: Done.]]'
)


async def made(studio: Studio, agent: Create, task: str = TASK) -> Run:
    tools = ("blackboard_write", "blackboard_read")
    await orm.run_in_thread(lambda: agent(tools=tools, max_tool_output_bytes=500))
    run = await studio.run(task)
    assert run.status == RunStatus.SUCCEEDED
    return run


def context_of(run: Run) -> ToolContext:
    http: Any = None
    return ToolContext(run.workspace_id, run.pk, run.root_id, run.agent, "9.0", "k", http)


async def test_a_long_result_is_stored_whole_and_shown_by_its_beginning(
    studio: Studio, agent: Create
) -> None:
    run = await made(studio, agent)

    def check() -> None:
        shown = ToolCall.objects.get(run=run, tool="blackboard_read").result or ""
        stored = Artifact.objects.get(run=run)
        assert len(shown.encode()) <= 500
        assert shown.startswith("é")
        assert stored.name in shown
        assert bytes(stored.content).decode() == WHOLE
        events = run.events.filter(type="tool.finished").order_by("seq")
        assert [event.payload["artifact"] for event in events] == ["", stored.name]

        # The model goes on where the beginning ends, and gets every character once.
        text, offset = "", 0
        while offset < stored.size:
            part = read_artifact(context_of(run), stored.name, offset, 333)
            head, _, rest = part.partition("\n")
            assert len(part.encode()) <= 500
            text += rest
            offset = int(re.findall(r"bytes \d+ to (\d+)", head)[0])
        assert text == WHOLE

        # It is listed and fetched like every artifact, and leaves with its run.
        listed = produced_below(run)
        assert [(one.artifact.name, one.size) for one in listed] == [(stored.name, 2_000)]
        assert find_artifact(run, stored.name).content == WHOLE
        lines = [json.loads(line) for line in tree_lines([run.root_id])]
        assert [line["type"] for line in lines] == ["run", "artifact"]

    await orm.run_in_thread(check)


async def test_the_reader_is_offered_once_there_is_such_a_result(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: list[bool] = []
    definitions = RunToolbox.definitions

    def noted(self: RunToolbox, *, with_artifacts: bool = False) -> Any:
        tools = definitions(self, with_artifacts=with_artifacts)
        offered.append(READER in [tool.name for tool in tools])
        return tools

    monkeypatch.setattr(RunToolbox, "definitions", noted)
    name = f"blackboard_read-2.0-{hashlib.sha256(WHOLE.encode()).hexdigest()[:8]}"
    reading = f'[[then: {READER} {{"artifact": "{name}", "offset": 300}}]]'
    task = TASK.replace(" [[text", f"{reading} [[text")
    run = await made(studio, agent, task)
    assert offered == [False, False, True, True]
    last = await orm.run_in_thread(lambda: ToolCall.objects.get(run=run, tool=READER).result)
    assert (last or "").startswith("[bytes 300 to 680 of 2000; read on from offset 680]\n\u00e9")


async def test_a_fork_keeps_the_artifacts_of_the_results_it_copied(
    studio: Studio, agent: Create
) -> None:
    run = await made(studio, agent)

    def check() -> None:
        fork = fork_run(run, 2)
        names = Artifact.objects.filter(run=fork).values_list("name", flat=True)
        assert list(names) == list(Artifact.objects.filter(run=run).values_list("name", flat=True))
        early = fork_run(run, 1)
        assert not Artifact.objects.filter(run=early).exists(), "its result was not copied"

    await orm.run_in_thread(check)


async def test_storing_is_repeatable_and_bounded(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(agent)
    run = await studio.run("[[text: Nothing.]]")
    results = BigResults(run.workspace_id, run.pk, run.root_id, 300)
    done = answer(json.dumps(list(range(1_000))), "ok", 300)

    def check() -> None:
        first, second = results.store("1.0", "list", done), results.store("1.0", "list", done)
        assert first == second
        assert Artifact.objects.filter(run=run).count() == 1
        monkeypatch.setattr(big_results, "MAX_BYTES", 1_000)
        cut = results.store("2.0", "list", done)
        assert "The beginning, 1000 bytes," in cut.content
        assert Artifact.objects.get(run=run, name=cut.artifact).size == 1_000
        monkeypatch.setattr(big_results, "MAX_TREE_BYTES", 5_000)
        assert results.store("3.0", "list", done) == done
        assert Artifact.objects.filter(run=run).count() == 2

    await orm.run_in_thread(check)
