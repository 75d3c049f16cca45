"""Tools of the client: offered, called by the agent, returned with the next request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import pytest

from agents.models import Agent, Run, ToolBinding

if TYPE_CHECKING:
    from openai import OpenAI

    from heartbit_site.base.models import Workspace

WEATHER: Any = {
    "name": "get-weather",
    "description": "Return the weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
ASK = '[[calls: get-weather {"city": "Oslo"}, get-weather {"city": "Rome"}]] [[text: Mild.]]'


def test_a_chat_continues_its_run_with_the_results(client: OpenAI) -> None:
    tools: Any = [{"type": "function", "function": WEATHER}]
    messages: list[Any] = [{"role": "user", "content": ASK}]
    first = client.chat.completions.create(model="writer", messages=messages, tools=tools)
    asked = first.choices[0]
    assert asked.finish_reason == "tool_calls"
    calls = asked.message.tool_calls
    assert calls is not None
    asked_for = [one.function for one in calls if one.type == "function"]
    assert [json.loads(one.arguments)["city"] for one in asked_for] == ["Oslo", "Rome"]
    run = Run.objects.get(pk=first.id.removeprefix("chatcmpl-"))
    assert (run.status, run.worker_id) == ("waiting", None)
    messages.append(asked.message)
    messages += [{"role": "tool", "tool_call_id": one.id, "content": "20 C"} for one in calls]
    for _ in range(2):  # another try changes nothing
        last = client.chat.completions.create(model="writer", messages=messages, tools=tools)
        assert (last.id, last.choices[0].message.content) == (first.id, "Mild.")
    assert Run.objects.filter(task=ASK).count() == 1


def test_a_stream_ends_with_the_calls(client: OpenAI) -> None:
    tools: Any = [{"type": "function", "function": WEATHER}]
    messages: list[Any] = [{"role": "user", "content": ASK}]
    with client.chat.completions.stream(model="writer", messages=messages, tools=tools) as stream:
        message = stream.get_final_completion().choices[0].message
    assert message.tool_calls is not None
    messages.append(message)
    messages += [
        {"role": "tool", "tool_call_id": one.id, "content": "20 C"} for one in message.tool_calls
    ]
    with client.chat.completions.stream(model="writer", messages=messages, tools=tools) as stream:
        assert stream.get_final_completion().choices[0].message.content == "Mild."


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_response_continues_with_the_outputs(client: OpenAI, *, is_streamed: bool) -> None:
    tools: Any = [{"type": "function", **WEATHER}]

    def ask(**given: Any) -> Any:
        if not is_streamed:
            return client.responses.create(model="writer", tools=tools, **given)
        with client.responses.stream(model="writer", tools=tools, **given) as stream:
            return stream.get_final_response()

    first = ask(input=ASK)
    calls = [one for one in first.output if one.type == "function_call"]
    assert [json.loads(one.arguments)["city"] for one in calls] == ["Oslo", "Rome"]
    outputs = [
        {"type": "function_call_output", "call_id": one.call_id, "output": "20 C"} for one in calls
    ]
    last = ask(input=outputs, previous_response_id=first.id)
    assert (last.status, last.output_text) == ("completed", "Mild.")


def test_a_tool_of_the_agents_own_name_is_refused(client: OpenAI, workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    own = ToolBinding.objects.filter(agent=agent).values_list("tool", flat=True).first()
    tools: Any = [{"type": "function", "function": {**WEATHER, "name": own}}]
    with pytest.raises(openai.BadRequestError, match="rename yours"):
        client.chat.completions.create(
            model="writer", messages=[{"role": "user", "content": "x"}], tools=tools
        )


def test_results_of_nothing_are_refused(client: OpenAI) -> None:
    for name in ("call_1", f"call_{'0' * 32}_1_0"):
        messages: list[Any] = [
            {"role": "user", "content": "x"},
            {"role": "tool", "tool_call_id": name, "content": "1"},
        ]
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="writer", messages=messages)
