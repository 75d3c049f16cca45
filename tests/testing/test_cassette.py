"""Cassettes: each request gets the answer that was recorded at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.llm.errors import RequestRejectedError
from agents.llm.messages import AssistantMessage, ChatRequest, Completion, ToolMessage, UserMessage
from agents.llm.testing.cassette import Cassette
from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from agents.llm.adapters.scripted import ScriptedModel
    from agents.llm.messages import Message

LOOK = {"calls": [{"tool": "look", "arguments": "{}"}]}


def cassette(*runs: tuple[str, list[Any]]) -> Cassette:
    found = [{"agent": "a", "task": task, "answers": answers} for task, answers in runs]
    return Cassette.model_validate({"runs": found})


async def asked(model: ScriptedModel, *messages: Message) -> AssistantMessage:
    events = [event async for event in model.stream(ChatRequest("system", messages))]
    assert isinstance(events[-1], Completion)
    return events[-1].message


async def test_a_run_and_its_sub_agents_get_their_own_answers() -> None:
    model = cassette(
        ("Top", [LOOK, {"text": "Done."}]),
        ("Part", [{"text": "One."}]),
        ("Part", [{"text": "Two."}]),
    ).model()
    first = await asked(model, UserMessage("Top"))
    assert [call.name for call in first.tool_calls] == ["look"]
    assert [(await asked(model, UserMessage("Part"))).text for _ in range(2)] == ["One.", "Two."]
    messages = (UserMessage("Earlier."), AssistantMessage("Yes."), UserMessage("Top"))
    result = ToolMessage("call_0_0", "look", "seen")
    assert (await asked(model, *messages, first, result)).text == "Done."


async def test_what_was_not_recorded_is_refused_in_a_sentence() -> None:
    model = cassette(("Top", [{"text": "Done."}])).model()
    with pytest.raises(RequestRejectedError, match="no answer number 1 to the task 'Other'"):
        await asked(model, UserMessage("Other"))
    with pytest.raises(RequestRejectedError, match="no answer number 2 to the task 'Top'"):
        await asked(model, UserMessage("Top"), AssistantMessage("Done."))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not a cassette that Heartbit can read"),
        ('{"format": 2, "runs": []}', "(format: "),
        ('{"runs": []}', "(runs: "),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(content)
    with pytest.raises(ConfigurationError) as refused:
        Cassette.load(path)
    assert str(path) in str(refused.value)
    assert sentence in str(refused.value)
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        Cassette.load(tmp_path / "gone.json")
