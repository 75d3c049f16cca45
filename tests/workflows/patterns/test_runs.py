"""Patterns on the runtime, with the fake model server: as tables of a file, and from Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.save_agent import create_agent
from agents.choices import RunStatus
from agents.models import AgentVersion, Run
from agents.workflows.builder.patterns import by_model, group_chat, handoff, magentic, squad
from agents.workflows.builder.workflow import Workflow
from agents.workflows.patterns.magentic import ledger_schema
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.apply import import_config
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.read import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent
    from tests.runtime.conftest import Studio

DOCUMENT = Path(__file__).parents[3] / "docs/howto/workflows.md"
AGENTS = "".join(
    f'[[agents]]\nname = "{name}"\ndescription = "Helps."\nsystem_prompt = "Help."\n'
    for name in ("coder", "reviewer")
)
PANEL = f"""{AGENTS}
[[workflows]]
name = "panel"
[workflows.group_chat]
agents = ["coder", "reviewer"]
end = {{ any_of = [{{ max_messages = 3 }}, {{ keyword = "APPROVED" }}] }}
"""


async def started(studio: Studio, workflow: Workflow, task: str) -> Run:
    """Publish a workflow, and return its run, ended."""
    create = lambda: create_agent(studio.workspace, workflow.check().spec, by=SYSTEM)  # noqa: E731
    await orm.run_in_thread(create)
    return await studio.run(task, agent=workflow.name)


async def tasks(run: Run) -> list[tuple[str, str]]:
    """Return the agents of a run's children with the ends of their tasks, in order."""
    children = await orm.run_in_thread(
        lambda: list(run.children.order_by("pk").values_list("version__agent__name", "task"))
    )
    return [(name, task.rpartition("\n\n")[2]) for name, task in children]


async def test_a_chat_of_a_file_runs_until_it_ends(studio: Studio) -> None:
    await orm.run_in_thread(lambda: import_config(studio.workspace, parse(PANEL)))
    versions = AgentVersion.objects.filter(agent__workspace=studio.workspace)
    version = await orm.run_in_thread(lambda: versions.get(agent__name="panel"))
    assert version.snapshot["pattern"] == "group_chat"
    run = await studio.run("Build. [[text: Built.]]", agent="panel")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Built."), run.error
    said = ["(nothing yet)", "coder: Built.", "reviewer: Built."]
    assert await tasks(run) == list(zip(["coder", "reviewer", "coder"], said, strict=True))
    run = await studio.run("Build. [[text: APPROVED]]", agent="panel")
    assert (run.status, run.output, len(await tasks(run))) == ("succeeded", "APPROVED", 1)


async def test_a_moderator_and_a_judge_are_runs_too(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: [agent(name) for name in ("coder", "reviewer", "boss")])
    end = by_model("boss")
    chat = group_chat("panel", ["coder", "reviewer"], select=by_model("boss"), end=end)
    run = await started(studio, chat, "Who? [[text: Yes, the reviewer.]]")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Yes, the reviewer."), run.error
    assert [name for name, _ in await tasks(run)] == ["boss", "reviewer", "boss"]


async def test_a_squad_is_a_node_of_another_workflow(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: [agent(name) for name in ("a", "b")])
    inner = squad("pair", ["a", "b"], lead="a").check().spec
    await orm.run_in_thread(lambda: create_agent(studio.workspace, inner, by=SYSTEM))
    outer = Workflow("outer").workflow("pair").start("pair")
    run = await started(studio, outer, "Think. [[text: Owls.]]")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Owls."), run.error
    pair = await orm.run_in_thread(lambda: run.children.get())
    assert [name for name, _ in await tasks(pair)] == ["a", "b", "a", "b", "a"]
    assert (await tasks(pair))[4][1] == '{"a": "Owls.", "b": "Owls."}'


async def test_a_handoff_ends_with_an_answer_or_at_its_limit(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    schema = {"type": "object", "properties": {"handoff": {"enum": ["b", ""]}}}
    await orm.run_in_thread(lambda: (agent("a", response_schema=schema), agent("b")))
    desk = handoff("desk", ["a", "b"], max_handoffs=2)
    run = await started(studio, desk, '[[text: Paid.]] [[calls: __respond__ {"handoff": "b"}]]')
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Paid."), run.error
    task = '[[text: HANDOFF: a]] [[calls: __respond__ {"handoff": "b"}]]'
    run = await studio.run(task, agent="desk")
    assert (run.status, len(await tasks(run))) == (RunStatus.FAILED, 3)
    assert "len(state.transcript) <= 2" in str(run.error)


async def test_a_manager_ends_a_task_or_stalls_and_plans_again(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    schema = ledger_schema(["coder"])
    await orm.run_in_thread(lambda: (agent("boss", response_schema=schema), agent("coder")))
    team = magentic("team", "boss", ["coder"], max_stalls=2, max_replans=1)
    plain = {"facts": "F", "plan": "P", "done": False, "progressing": False, "next": "coder"}
    made = {**plain, "instruction": "[[text: Tried.]]", "answer": ""}
    run = await started(studio, team, f"[[calls: __respond__ {json.dumps(made)}]]")
    assert (run.status, "state.plans <= 1" in str(run.error)) == (RunStatus.FAILED, True), run.error
    names = [name for name, _ in await tasks(run)]
    assert names == ["boss", "boss", "coder", "boss"] * 2
    done = json.dumps({**made, "done": True, "answer": "42"})
    run = await studio.run(f"[[calls: __respond__ {done}]]", agent="team")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "42"), run.error


def test_the_examples_of_the_documents_are_the_same_graphs() -> None:
    _, section = DOCUMENT.read_text().split("## Patterns\n")
    toml, python = (part.split("```")[0] for part in re.split("```(?:toml|python)\n", section)[1:3])
    built: dict[str, Any] = {}
    exec(python, built)  # noqa: S102
    written = parse(toml).others
    assert len(written) == 6
    for one in written:
        assert isinstance(one, WorkflowSpec)
        assert one.graph.plain() == built[one.name].check().spec.graph.plain()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"reviewer"]', '"reviewr"]', 'unknown agent "reviewr"'),
        ("max_messages = 3", "max_messages = 0", "write a whole number from 1 to 500"),
        ("agents = [", "agent = [", "group_chat.agent is not a setting"),
    ],
)
@pytest.mark.usefixtures("workspace")
def test_faults_of_a_pattern_are_named(old: str, new: str, sentence: str) -> None:
    with pytest.raises(ConfigFileError, match=sentence) as refused:
        parse(PANEL.replace(old, new))
    assert {one.line for one in refused.value.problems} == {10}
