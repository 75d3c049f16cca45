"""Patterns on the runtime, with the fake model server: as tables of a file, and from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.save_agent import create_agent
from agents.choices import RunStatus
from agents.models import AgentVersion, Run
from agents.workflows.builder.patterns import by_model, concurrent, group_chat
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.apply import import_config
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.read import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent
    from agents.workflows.builder.workflow import Workflow
    from tests.runtime.conftest import Studio

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
    version = await orm.run_in_thread(lambda: AgentVersion.objects.get(agent__name="panel"))
    assert version.snapshot["pattern"] == "group_chat"
    run = await studio.run("Build. [[text: Built.]]", agent="panel")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Built."), run.error
    nothing, said = "(nothing yet)", "coder: Built."
    assert await tasks(run) == [
        ("coder", nothing),
        ("reviewer", said),
        ("coder", "reviewer: Built."),
    ]
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


async def test_agents_side_by_side_are_summed_up(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: [agent(name) for name in ("a", "b")])
    run = await started(studio, concurrent("both", ["a", "b"]), "[[text: Aye.]]")
    assert (run.status, run.structured) == ("succeeded", {"a": "Aye.", "b": "Aye."}), run.error


@pytest.mark.parametrize(
    ("change", "line", "sentence"),
    [
        (('"reviewer"]', '"reviewr"]'), 10, 'unknown agent "reviewr"'),
        (("max_messages = 3", "max_messages = 0"), 10, "write a whole number from 1 to 500"),
        (("agents = [", "agent = ["), 10, "group_chat.agent is not a setting"),
    ],
)
def test_faults_of_a_pattern_are_named(
    workspace: Any, change: tuple[str, str], line: int, sentence: str
) -> None:
    with pytest.raises(ConfigFileError) as refused:
        parse(PANEL.replace(*change))
    assert sentence in " ".join(one.message for one in refused.value.problems)
    assert {one.line for one in refused.value.problems} == {line}
