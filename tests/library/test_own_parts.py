"""A program hands in parts of its own: a model, a blackboard, a memory, MCP servers' addresses."""

from __future__ import annotations

from collections import UserDict
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.runs import cancel_run, resume_run
from agents.choices import Placement
from agents.errors import ProgramToolsError
from agents.llm import program_models
from agents.llm.adapters.scripted import Reply, ScriptedModel, calls
from agents.models import Run
from agents.output.payload import PayloadError
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library import LanguageModel
from memory.providers.protocol import MemoryContext, ProvidedText, Said
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.library import Heartbit


def test_a_model_of_the_program_is_asked(heartbit: Heartbit) -> None:
    model = ScriptedModel(["Yes.", "Again."], name="mine")
    solo = heartbit.agent("solo", "Be brief.", model=model)
    result = solo.run("Is it?")
    assert (result.text, len(model.requests)) == ("Yes.", 1)
    assert heartbit.provider(model).agent("other", "Be brief.").run("Again?").text == "Again."
    assert Run.objects.get(pk=result.run_id).model == "program:mine"


def test_a_model_is_an_agent(heartbit: Heartbit) -> None:
    poet = LanguageModel(ScriptedModel(["Roses."], name="poet")).as_agent("poet", "You rhyme.")
    team = heartbit.members(poet)
    assert team.run("Roses?").text == "Roses."
    assert LanguageModel("openai:fake").as_agent().team.members[0].table["name"] == "assistant"


def test_models_of_one_name_are_told_apart() -> None:
    one, two = (ScriptedModel(["x"], name="twin") for _ in range(2))
    names = [program_models.register(model) for model in (one, two, one)]
    assert names == ["program:twin", "program:twin-2", "program:twin"]


def test_a_run_continues_only_where_its_program_s_model_is(
    heartbit: Heartbit, monkeypatch: pytest.MonkeyPatch
) -> None:
    solo = heartbit.agent("solo", "Be brief.", model=ScriptedModel(["Yes."], name="gone"))
    ended = Run.objects.select_related("version__agent", "workspace").get(
        pk=solo.run("Is it?").run_id
    )
    origin = ended.version.agent.origin
    left = Run.objects.get(
        pk=start_run(ended.workspace, "x", agent="solo", origin=origin, home=Placement.LOCAL)
    )
    assert resume_run(left).takes_over
    monkeypatch.setattr(program_models, "_models", {})
    with pytest.raises(ProgramToolsError, match="whose model program:gone this process"):
        resume_run(left)
    cancel_run(ended.workspace, left.pk, reason="the test is over", by=SYSTEM)


class Board(UserDict[str, Any]):
    """A blackboard of the program's, in place of a database of its own."""


def test_a_blackboard_of_the_program_keeps_what_a_run_writes(heartbit: Heartbit) -> None:
    board = Board({"topic": "bees"})
    writes = calls(("blackboard_write", {"key": "plan", "value": "Ask."}))
    model = ScriptedModel([writes, "Done."])
    tools = ["blackboard_write", "blackboard_read"]
    solo = heartbit.blackboard(board).agent("solo", "Be brief.", tools=tools, model=model)
    assert solo.run("Plan.").blackboard == {"topic": "bees", "plan": "Ask."}
    assert board == {"topic": "bees", "plan": "Ask."}
    board["topic"] = "owls"
    reads = ScriptedModel([calls(("blackboard_read", {"key": "topic"})), "Read."])
    again = heartbit.blackboard(board).agent("solo", "Be brief.", tools=tools, model=reads)
    assert again.run("Read.").succeeded
    assert reads.requests[1].messages[-1].content == "owls"  # type: ignore[union-attr]


class Notes:
    """A memory of the program's."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def before(self, run: MemoryContext, task: str) -> Sequence[ProvidedText]:
        return [ProvidedText(text, "notes") for text in self.said]

    def after(self, run: MemoryContext, said: Sequence[Said]) -> None:
        self.said += [one.text for one in said]

    def erase(self, workspace_id: int, user_id: int, agent: str) -> None:
        self.said = []


def test_a_memory_of_the_program_is_asked_and_told(heartbit: Heartbit) -> None:
    notes = Notes()
    model = ScriptedModel(lambda _: Reply(text="Noted."), name="listener")
    solo = heartbit.memory(notes).agent("solo", "Be brief.", model=model)
    solo.run("I live in Bonn.")
    assert notes.said == ["I live in Bonn.", "Noted."]
    solo.on_event(lambda _: None).run("Where do I live?")
    assert "I live in Bonn." in str(model.requests[1])
    heartbit.agent("other", "Be brief.", model=model, memory_tokens=500).run("And I?")
    assert "I live in Bonn." not in str(model.requests[2]), "it is that builder's alone"
    kept = len(notes.said)
    heartbit.memory(notes, extract=False).agent("solo", "Be brief.", model=model).run("Hush.")
    assert len(notes.said) == kept


def test_a_task_in_its_long_form(heartbit: Heartbit) -> None:
    solo = heartbit.agent("solo", "Be brief.")
    result = solo.run(payload={"action": "review", "spec": {"text": "[[text: Fine.]]"}})
    assert (result.text, result.outcome.status) == ("Fine.", "success")
    payload = Run.objects.get(pk=result.run_id).payload or {}
    assert payload["spec"] == {"text": "[[text: Fine.]]"}
    with pytest.raises(PayloadError, match="needs the field 'spec'"):
        solo.run(payload={"action": "review"})


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (lambda one: one.provider(object()), "is not a model"),
        (lambda one: one.agent("a", "x", model=5), "5 is not a model"),
        (lambda one: one.agent("a", "x", model="program:none"), "a model of a Python program"),
        (lambda one: one.blackboard(object()), "is no blackboard"),
        (lambda one: one.memory(object()), "is no memory: it lacks `before`"),
        (lambda one: one.mcp("ftp://x"), "mcp_servers"),
    ],
)
def test_what_is_no_part_is_refused(heartbit: Heartbit, step: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        step(heartbit)
