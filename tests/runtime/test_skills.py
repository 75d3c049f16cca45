"""Skills in runs: always named, loaded when asked for, and as the agent's version pins them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.skills import record_shipped_skills, remove_skill, save_skill
from agents.choices import RunStatus
from agents.journal.events import RecordedEvent, decode
from agents.loop.agent_state import AgentState
from agents.loop.request import build_request
from agents.loop.skills import TOOLS
from agents.models import Agent, Run, Skill, ToolCall
from agents.reads.agents import definition_of
from agents.skills.folder import read_folder, shipped_skills
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.skills.examples import Example, read_example

if TYPE_CHECKING:
    from agents.skills.folder import SkillFolder
    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
SKILL = """---
name: greeting
description: Greets people. Use it when somebody arrives.
---
Say hello in {language}.
"""


def greeting(language: str = "Danish", **files: bytes) -> SkillFolder:
    main = {"SKILL.md": SKILL.format(language=language).encode()}
    return read_folder(main | {name.replace("__", "/"): data for name, data in files.items()})


def asked(*calls: tuple[str, dict[str, Any]], answer: str = "Done.") -> str:
    """A task that has the model call these, one turn after the other."""
    texts = [f"{name} {json.dumps(given)}]]" for name, given in calls]
    return "[[calls: " + " [[then: ".join(texts) + f" [[text: {answer}]]"


async def results(studio: Studio, task: str) -> list[ToolCall]:
    run = await studio.run(task)
    assert run.status == RunStatus.SUCCEEDED, run.error
    return await orm.run_in_thread(lambda: list(run.calls.order_by("id")))


async def stored(studio: Studio, folder: SkillFolder) -> None:
    await orm.run_in_thread(lambda: save_skill(studio.workspace, folder, by=SYSTEM))


LOAD = ("load_skill", {"name": "greeting"})


async def test_a_skill_is_loaded_when_the_model_asks_for_it(studio: Studio, agent: Create) -> None:
    await stored(studio, greeting(references__words_md=b"Hej.", logo_png=b"\x89PNG\xff"))
    await orm.run_in_thread(lambda: agent(skills=["greeting"]))
    paths = ("references/words_md", "logo_png", "no_such")
    reads = [("read_skill_file", {"name": "greeting", "path": path}) for path in paths]
    loaded, words, picture, missing = await results(studio, asked(LOAD, *reads))
    assert loaded.result is not None
    assert loaded.result.startswith("Say hello in Danish.\n\nFiles of the skill greeting;")
    assert "- references/words_md (4 bytes)" in loaded.result
    assert words.result == "Hej."
    assert "is not text (5 bytes)" in (picture.result or "")
    assert missing.status == "error"
    assert "its files are: logo_png, references/words_md" in (missing.result or "")


async def test_the_prompt_names_the_skills_and_not_their_instructions(
    studio: Studio, agent: Create, wire_server: WireServer
) -> None:
    await stored(studio, greeting())
    await orm.run_in_thread(lambda: agent(skills=["greeting"]))
    run = await studio.run("Hello.")
    caught = await orm.run_in_thread(lambda: prompts(run))
    assert "- greeting: Greets people. Use it when somebody arrives." in caught
    assert "Danish" not in caught


def prompts(run: Run) -> str:
    """The system prompt of the request that the run's journal gives."""
    state = AgentState()
    for row in run.events.order_by("seq"):
        state.fold(RecordedEvent(row.seq, row.at, decode(row.type, row.payload)))
    return build_request(state, definition_of(run.version), tools=()).system


async def test_an_agent_without_skills_is_offered_no_tool_for_them(
    studio: Studio, agent: Create
) -> None:
    await stored(studio, greeting())
    await orm.run_in_thread(lambda: agent())
    assert not await results(studio, asked(LOAD))  # the model calls what it is offered


async def test_a_run_keeps_the_version_that_its_agent_was_published_with(
    studio: Studio, agent: Create
) -> None:
    await stored(studio, greeting("Danish"))
    solo = await orm.run_in_thread(lambda: agent(skills=["greeting"]))
    former = solo.current_version
    await stored(studio, greeting("Finnish"))

    def back_to_former() -> None:
        now = Agent.objects.get(pk=solo.pk)
        assert now.current_version_id != solo.current_version_id  # published again
        Agent.objects.filter(pk=solo.pk).update(current_version=former)

    [new] = await results(studio, asked(LOAD))
    assert new.result == "Say hello in Finnish."
    await orm.run_in_thread(back_to_former)
    [old] = await results(studio, asked(LOAD))
    assert old.result == "Say hello in Danish."


async def test_a_skill_that_was_removed_says_so(studio: Studio, agent: Create) -> None:
    await stored(studio, greeting())
    solo = await orm.run_in_thread(lambda: agent(skills=["greeting"]))

    def remove() -> None:
        Agent.objects.filter(pk=solo.pk).update(skills=[])
        remove_skill(Skill.objects.get(workspace=studio.workspace, name="greeting"), by=SYSTEM)

    await orm.run_in_thread(remove)
    [one] = await results(studio, asked(LOAD))
    assert one.status == "error"
    assert (one.result or "").endswith("The skill greeting was removed from the workspace.")


async def test_a_program_finds_the_files_of_a_skill_and_leaves_none_of_them(
    studio: Studio, agent: Create
) -> None:
    await stored(studio, greeting(scripts__hi_sh=b"echo hej > out; echo x > skills/greeting/new"))
    await orm.run_in_thread(lambda: agent(skills=["greeting"], tools=("run_code", "shell", "glob")))
    script = "sh skills/greeting/scripts/hi_sh; ls skills/greeting"
    in_sandbox = ("run_code", {"language": "shell", "code": script, "skills": ["greeting"]})
    in_folder = ("shell", {"command": script, "skills": ["greeting"]})
    ran, worked, listed = await results(studio, asked(in_sandbox, in_folder, ("glob", {})))
    assert json.loads(ran.result or "")["stdout"] == "SKILL.md\nnew\nscripts\n"
    assert sorted(json.loads(ran.result or "")["artifacts"]) == ["out", "skills/greeting/new"]
    assert json.loads(worked.result or "")["changed"] == ["out", "skills/greeting/new"]
    assert sorted(json.loads(listed.result or "")["files"]) == ["out", "skills/greeting/new"]


EXAMPLES = [folder.spec.name for folder in shipped_skills()]


@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_worked_example_of_a_shipped_skill_works(
    studio: Studio, agent: Create, name: str
) -> None:
    """Its calls are made by a model at the wire, and return what the example says."""
    [folder] = [one for one in shipped_skills() if one.spec.name == name]
    example: Example = read_example(folder)
    tools = {*folder.spec.allowed_tools, *(call.tool for call in example.calls)} - {*TOOLS}

    def create() -> None:
        record_shipped_skills()
        agent(skills=[name], tools=tuple(sorted(tools)), max_turns=20)

    await orm.run_in_thread(create)
    calls = [(call.tool, call.arguments) for call in example.calls]
    run = await studio.run(example.task + asked(*calls, answer=example.answer))
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert run.output == example.answer
    made = await orm.run_in_thread(lambda: list(run.calls.order_by("id")))
    assert len(made) == len(example.calls)
    for call, row in zip(example.calls, made, strict=True):
        assert row.status == "ok", row.result
        shown = (row.result or "").replace("\\n", "\n")
        for line in call.expected:
            assert line in shown
