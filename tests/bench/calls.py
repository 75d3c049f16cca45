"""The calls of the workloads without Heartbit's runtime: what both floors are made of."""

from __future__ import annotations

import asyncio
import functools
import json
import os
from typing import TYPE_CHECKING, Any

from agents.llm import factory
from agents.llm.client import create_client
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Completion,
    Message,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from tests.bench.toolbox.agent_tools import look_up, note
from tests.bench.workloads import MEMBERS, MODEL, SYSTEM_PROMPT
from tools.builtin.arithmetic import calculate
from tools.builtin.clock import current_time

if TYPE_CHECKING:
    import httpx

    from agents.llm.protocol import ChatModel

_FUNCTIONS: dict[str, Any] = {
    function.__name__: function for function in (look_up, note, calculate, current_time)
}
TOOLS = tuple(
    ToolDefinition(name, function.__tool__.description, dict(function.__tool__.parameters))
    for name, function in _FUNCTIONS.items()
)
_MEMBER = {"agent": {"type": "string", "enum": list(MEMBERS)}, "task": {"type": "string"}}
DELEGATE = (
    ToolDefinition(
        "delegate_task",
        "Give tasks to team members. They work in parallel.",
        {
            "type": "object",
            "properties": {
                "tasks": {"type": "array", "items": {"type": "object", "properties": _MEMBER}}
            },
        },
    ),
)


@functools.cache
def client() -> httpx.AsyncClient:
    """The process's HTTP client; first used on the loop it belongs to."""
    return create_client()


@functools.cache
def model() -> ChatModel:
    """The process's model."""
    return factory.create(MODEL, client=client(), environ=os.environ)


async def close() -> None:
    """Close the client, if it was used."""
    if client.cache_info().currsize:
        await client().aclose()
        client.cache_clear()
        model.cache_clear()


async def ask(messages: tuple[Message, ...], tools: tuple[ToolDefinition, ...]) -> AssistantMessage:
    """One model call, streamed like the runtime's."""
    request = ChatRequest(system=SYSTEM_PROMPT, messages=messages, tools=tools)
    async for event in model().stream(request):
        if isinstance(event, Completion):
            return event.message
    raise RuntimeError("the stream ended without a completion")


def call(tool_call: ToolCall) -> ToolMessage:
    """One tool call."""
    result = _FUNCTIONS[tool_call.name](**json.loads(tool_call.arguments))
    return ToolMessage(tool_call.id, tool_call.name, str(result))


async def call_all(answer: Message) -> list[ToolMessage]:
    """The tool calls of an answer, in parallel threads."""
    tool_calls = answer.tool_calls if isinstance(answer, AssistantMessage) else ()
    return await asyncio.gather(*(asyncio.to_thread(call, each) for each in tool_calls))


async def solo(task: str) -> str:
    """W1."""
    return (await ask((UserMessage(task),), ())).text


async def chat(task: str, messages: int) -> str:
    """W3."""
    said: list[Message] = []
    for _ in range(messages):
        said.append(UserMessage(task))
        said.append(await ask(tuple(said), ()))
    last = said[-1]
    return last.text if isinstance(last, AssistantMessage) else ""


async def worker(task: str) -> str:
    """W2."""
    first = await ask((UserMessage(task),), TOOLS)
    results = await call_all(first)
    return (await ask((UserMessage(task), first, *results), TOOLS)).text


async def lead(task: str) -> str:
    """W4."""
    first = await ask((UserMessage(task),), DELEGATE)
    (delegation,) = first.tool_calls
    tasks = json.loads(delegation.arguments)["tasks"]
    answers = await asyncio.gather(*(worker(each["task"]) for each in tasks))
    result = ToolMessage(delegation.id, delegation.name, "\n".join(answers))
    return (await ask((UserMessage(task), first, result), DELEGATE)).text
