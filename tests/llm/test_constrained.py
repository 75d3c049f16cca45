"""A model without tool calls, led by a schema."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from agents.llm.adapters.constrained_json import ConstrainedJsonModel
from agents.llm.adapters.constrained_schema import call_schema
from agents.llm.errors import OverloadedError
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Completion,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolDefinition,
    ToolMessage,
    Usage,
    UserMessage,
)
from agents.llm.profiles import ABLE, TINY, Constrained

from .support import CLOCK, SEARCH, collect, complete

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

DELEGATE = ToolDefinition(
    "delegate_task",
    "Give tasks to the team.",
    {
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "minItems": 12,
                "items": {"$ref": "#/$defs/Task"},
            }
        },
        "required": ["tasks"],
        "$defs": {
            "Task": {
                "type": "object",
                "properties": {
                    "agent": {"enum": ["a", "b"]},
                    "task": {"type": "string", "minLength": 2000},
                    "tags": {"type": ["array", "null"], "items": {"type": "string"}},
                },
            }
        },
    },
)
ASK = ChatRequest("Be good.", (UserMessage("Why?"),), (SEARCH, CLOCK))


@dataclass
class Inner:
    """Stands for the Chat Completions model: replies with set pieces, keeps what it was sent."""

    pieces: list[str]
    finish: str = "stop"
    sent: list[tuple[ChatRequest, Mapping[str, Any]]] = field(default_factory=list)
    name: str = "local:tiny"

    async def stream_with(
        self, request: ChatRequest, extra: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent, None]:
        self.sent.append((request, extra))
        for piece in self.pieces:
            yield TextDelta(piece)
        message = AssistantMessage("".join(self.pieces))
        yield Completion(message, Usage(3, 4), self.finish, "tiny")  # type: ignore[arg-type]

    @property
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = self.sent[-1][1]["response_format"]["json_schema"]["schema"]
        return schema

    @property
    def tools(self) -> list[str]:
        return [branch["properties"]["tool"]["const"] for branch in self.schema["anyOf"]]


def reply(*pieces: str, rules: Constrained = ABLE, **options: Any) -> tuple[Inner, Any]:
    inner = Inner(list(pieces), **options)
    return inner, ConstrainedJsonModel(inner, rules)


CALL = '{"tool": "search", "args": {"q": "bees \\"}"}}'
ANSWER = '{"tool":"answer","args":{"text":"Gr\\u00fc\\u00dfe \\ud83d\\udc1d\\n\\"Q\\" \\\\ end"}}'
ANSWER_TEXT = 'Grüße 🐝\n"Q" \\ end'


def cuts(text: str) -> list[list[str]]:
    """Return the text whole, letter by letter, and cut in two everywhere."""
    halves = [[text[:at], text[at:]] for at in range(1, len(text))]
    return [[text], list(text), *halves]


async def test_the_reply_becomes_a_call_however_it_arrives() -> None:
    for pieces in cuts(CALL):
        _, chat_model = reply(*pieces)
        events = await collect(chat_model, ASK)
        completion = events[-1]
        assert isinstance(completion, Completion)
        (call,) = completion.message.tool_calls
        assert (call.id, call.name) == ("call_1_0", "search")
        assert json.loads(call.arguments) == {"q": 'bees "}'}
        assert completion.finish_reason == "tool_calls"
        assert completion.message.text == ""
        deltas = [event for event in events if isinstance(event, ToolCallDelta)]
        assert "".join(delta.arguments for delta in deltas) == call.arguments


async def test_an_answer_streams_as_text_while_it_arrives() -> None:
    for pieces in cuts(ANSWER):
        _, chat_model = reply(*pieces)
        events = await collect(chat_model, ASK)
        texts = [event.text for event in events if isinstance(event, TextDelta)]
        assert "".join(texts) == ANSWER_TEXT
        completion = events[-1]
        assert isinstance(completion, Completion)
        assert completion.message == AssistantMessage(ANSWER_TEXT)
        assert completion.usage == Usage(3, 4)
    _, chat_model = reply(*ANSWER)
    async with aclosing(chat_model.stream(ASK)) as events:
        assert await anext(events) == TextDelta("G")


async def test_a_call_that_was_cut_keeps_what_came_and_its_reason() -> None:
    _, chat_model = reply('{"tool":"search","args":{"q":"be', finish="length")
    answer = await complete(chat_model, ASK)
    assert answer.message.tool_calls[0].arguments == '{"q":"be'
    assert answer.finish_reason == "length"


async def test_an_answer_that_was_cut_keeps_what_came() -> None:
    _, chat_model = reply('{"tool":"answer","args":{"text":"Half an ans', finish="length")
    answer = await complete(chat_model, ASK)
    assert (answer.message.text, answer.finish_reason) == ("Half an ans", "length")


async def test_a_server_that_ignores_the_schema_answers_in_text() -> None:
    _, chat_model = reply("Just ", "words.")
    assert await collect(chat_model, ASK) == [
        TextDelta("Just words."),
        Completion(AssistantMessage("Just words."), Usage(3, 4), "stop", "tiny"),
    ]


async def test_without_tools_it_is_an_ordinary_model() -> None:
    inner, chat_model = reply("Hi ", "there")
    events = await collect(chat_model, replace(ASK, tools=()))
    assert events[:2] == [TextDelta("Hi "), TextDelta("there")]
    request, extra = inner.sent[0]
    assert extra == {}
    assert (request.system, request.messages) == ("Be good.", ASK.messages)


async def test_an_error_passes_through() -> None:
    class Broken(Inner):
        async def stream_with(
            self, request: ChatRequest, extra: Mapping[str, Any]
        ) -> AsyncGenerator[StreamEvent, None]:
            yield TextDelta('{"tool"')
            raise OverloadedError("busy")

    with pytest.raises(OverloadedError):
        await collect(ConstrainedJsonModel(Broken([])), ASK)


def test_the_schema_bounds_what_the_tool_leaves_open_and_changes_nothing_of_the_caller() -> None:
    before = copy.deepcopy(DELEGATE)
    schema = call_schema((SEARCH, DELEGATE), answer="answer", limits=ABLE)
    assert before == DELEGATE
    search, delegate, answer = schema["anyOf"]
    assert search["properties"]["args"]["properties"]["q"]["maxLength"] == 1000
    args = delegate["properties"]["args"]
    assert "$defs" not in args
    assert args["properties"]["tasks"]["maxItems"] == 12
    assert args["properties"]["tasks"]["items"] == {"$ref": "#/$defs/delegate_task.Task"}
    task = schema["$defs"]["delegate_task.Task"]["properties"]
    assert task["agent"] == {"enum": ["a", "b"]}
    assert task["task"]["maxLength"] == 2000
    assert task["tags"]["maxItems"] == 8
    assert answer["properties"]["args"]["properties"]["text"]["maxLength"] == 1900


def test_the_schema_accepts_a_call_and_an_answer_and_nothing_else() -> None:
    schema = call_schema((SEARCH,), answer="answer", limits=ABLE)
    validator = jsonschema_rs.validator_for(schema)
    assert validator.is_valid({"tool": "search", "args": {"q": "x"}})
    assert validator.is_valid({"tool": "answer", "args": {"text": "x"}})
    assert not validator.is_valid({"tool": "search", "args": {"q": "x" * 1001}})
    assert not validator.is_valid({"tool": "other", "args": {}})
    assert not validator.is_valid({"tool": "answer", "args": {"text": ""}})


async def test_a_tool_called_answer_keeps_its_name() -> None:
    tool = ToolDefinition("answer", "Phone.", {"type": "object", "properties": {}})
    inner, chat_model = reply('{"tool":"answer","args":{}}')
    answer = await complete(chat_model, replace(ASK, tools=(tool,)))
    assert answer.message.tool_calls[0].name == "answer"
    assert inner.tools == ["answer", "answer_"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("auto", ["search", "clock", "answer"]), ("required", ["search", "clock"])],
)
async def test_free_choice_offers_an_answer_unless_a_call_is_required(
    choice: Any, expected: list[str]
) -> None:
    inner, chat_model = reply(CALL)
    await collect(chat_model, replace(ASK, tool_choice=choice))
    assert inner.tools == expected


async def test_with_choice_none_no_schema_is_sent() -> None:
    inner, chat_model = reply("fine")
    await collect(chat_model, replace(ASK, tool_choice="none"))
    assert "response_format" not in inner.sent[0][1]


RESULTS = (
    UserMessage("Why?"),
    AssistantMessage("Let me ask.", (ToolCall("a", "delegate_task", '{"tasks":[]}'),)),
    ToolMessage("a", "delegate_task", "writer: Bees pollinate."),
)
TEAM = ChatRequest("Lead.", (UserMessage("Why?"),), (DELEGATE, CLOCK))


async def test_the_tiny_model_must_delegate_first_then_answers_from_notes() -> None:
    inner, chat_model = reply('{"tool":"delegate_task","args":{}}', rules=TINY.constrained)
    await collect(chat_model, TEAM)
    request, extra = inner.sent[-1]
    assert inner.tools == ["delegate_task"]
    assert (request.temperature, extra["repeat_penalty"]) == (0.0, 1.0)
    await collect(chat_model, replace(TEAM, messages=RESULTS))
    request, extra = inner.sent[-1]
    assert extra == {"repeat_penalty": 1.1}
    assert request.max_tokens == 160
    assert request.messages == (
        UserMessage("Why?"),
        AssistantMessage("Let me ask."),
        UserMessage(
            "Notes:\nwriter: Bees pollinate.\n\nWrite one short paragraph from these notes."
        ),
    )


async def test_a_steering_message_does_not_make_the_tiny_model_delegate_again() -> None:
    inner, chat_model = reply("text", rules=TINY.constrained)
    await collect(chat_model, replace(TEAM, messages=(*RESULTS, UserMessage("Shorter!"))))
    assert "response_format" not in inner.sent[-1][1]


async def test_a_new_question_after_an_answer_lets_the_tiny_model_delegate_again() -> None:
    inner, chat_model = reply('{"tool":"delegate_task","args":{}}', rules=TINY.constrained)
    later = (*RESULTS, AssistantMessage("Because."), UserMessage("And wasps?"))
    await collect(chat_model, replace(TEAM, messages=later))
    assert inner.tools == ["delegate_task"]


async def test_the_tiny_model_answers_when_only_other_tools_are_offered() -> None:
    inner, chat_model = reply("text", rules=TINY.constrained)
    await collect(chat_model, ASK)
    assert "response_format" not in inner.sent[-1][1]


async def test_a_required_call_is_offered_even_when_every_tool_was_used() -> None:
    inner, chat_model = reply('{"tool":"delegate_task","args":{}}', rules=TINY.constrained)
    spent = replace(TEAM, messages=RESULTS, tool_choice="required")
    await collect(chat_model, spent)
    assert inner.tools == ["clock"]
    await collect(chat_model, replace(spent, tools=(DELEGATE,)))
    assert inner.tools == ["delegate_task"]


async def test_the_history_shows_calls_as_json_and_results_as_the_user_s_words() -> None:
    inner, chat_model = reply(CALL)
    messages = (
        UserMessage("Why?"),
        AssistantMessage("", (ToolCall("a", "search", '{"q": "x"}'),)),
        ToolMessage("a", "search", "nothing", is_error=True),
        AssistantMessage("I do not know."),
        UserMessage("Again."),
    )
    await collect(chat_model, replace(ASK, messages=messages))
    request, _ = inner.sent[-1]
    assert request.messages == (
        UserMessage("Why?"),
        AssistantMessage('{"tool":"search","args":{"q":"x"}}'),
        UserMessage("Error of search: nothing"),
        AssistantMessage('{"tool":"answer","args":{"text":"I do not know."}}'),
        UserMessage("Again."),
    )
    assert request.system.startswith("Be good.\nTools:\n- search: Search. args: {")
    assert '- answer: answer the user in plain words {"text":...}' in request.system


async def test_worked_examples_come_first_when_their_tool_is_on_offer() -> None:
    call = ToolCall("x", "delegate_task", '{"tasks":[]}')
    examples = (UserMessage("How?"), AssistantMessage(tool_calls=(call,)))
    inner, chat_model = reply('{"tool":"delegate_task","args":{}}', rules=TINY.constrained)
    await collect(chat_model, replace(TEAM, examples=examples))
    assert inner.sent[-1][0].messages == (
        UserMessage("How?"),
        AssistantMessage('{"tool":"delegate_task","args":{"tasks":[]}}'),
        UserMessage("Why?"),
    )
    inner, chat_model = reply(CALL)
    await collect(chat_model, replace(ASK, examples=examples))
    assert inner.sent[-1][0].messages == ASK.messages
