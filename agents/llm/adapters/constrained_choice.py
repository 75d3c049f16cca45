"""Choice of tools, or an answer, for a model without native tool calls."""

from __future__ import annotations

from dataclasses import dataclass

from agents.llm.messages import AssistantMessage, ChatRequest, Message, ToolDefinition
from agents.llm.profiles import Constrained


@dataclass(frozen=True, slots=True)
class Choice:
    """Options of the model in one call: some tools, an answer in text, or either."""

    tools: tuple[ToolDefinition, ...]
    answer: bool


def choose(request: ChatRequest, rules: Constrained) -> Choice:
    """Apply the rules of ``Constrained``; the same request always gives the same choice."""
    if request.tool_choice == "none" or not request.tools:
        return Choice((), answer=True)
    called = _called(request.messages)
    offered = tuple(
        tool for tool in request.tools if not (rules.tools_once and tool.name in called)
    )
    if request.tool_choice == "required":
        return Choice(offered or request.tools, answer=False)
    first = tuple(
        tool for tool in offered if tool.name in rules.first_tools and tool.name not in called
    )
    if first:
        return Choice(first, answer=False)
    return Choice(offered if rules.free_choice else (), answer=True)


def exchange_of(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages after the last answer without calls."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, AssistantMessage) and not message.tool_calls:
            return messages[index + 1 :]
    return messages


def _called(messages: tuple[Message, ...]) -> set[str]:
    return {
        call.name
        for message in exchange_of(messages)
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
