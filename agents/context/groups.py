"""Split a conversation into what may only be kept or dropped together."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from agents.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage

Group: TypeAlias = tuple[Message, ...]


def split(messages: tuple[Message, ...]) -> tuple[Group, ...]:
    """The conversation's groups, in order; put together they are the conversation again.

    A group is one user message, one assistant message without calls, or an assistant message with
    its calls and everything up to the last of their results. Providers refuse a call without its
    result and a result without its call, so a group is never taken apart.
    """
    groups = []
    start = 0
    while start < len(messages):
        end = _end(messages, start)
        groups.append(messages[start:end])
        start = end
    return tuple(groups)


def first_user(groups: tuple[Group, ...]) -> int | None:
    """Which group is the first user message: the task everything else serves."""
    for index, group in enumerate(groups):
        if isinstance(group[0], UserMessage):
            return index
    return None


def newest(groups: tuple[Group, ...]) -> int:
    """Where the part begins that the model has not seen yet: the last group.

    User messages right after results were said while the tools worked: those results are as new
    as they are, so they belong to it. A model that never sees a result asks for it again.
    """
    start = len(groups) - 1
    while start > 0 and isinstance(groups[start][0], UserMessage):
        start -= 1
    return start if groups and has_calls(groups[start]) else max(0, len(groups) - 1)


def has_calls(group: Group) -> bool:
    """Whether the group is an assistant message with calls."""
    return isinstance(group[0], AssistantMessage) and bool(group[0].tool_calls)


def without_thinking(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages without reasoning: its signatures cover what came before, unchanged."""
    return tuple(
        replace(message, thinking=())
        if isinstance(message, AssistantMessage) and message.thinking
        else message
        for message in messages
    )


def _end(messages: tuple[Message, ...], start: int) -> int:
    """Where the group that begins at ``start`` ends."""
    end = start + 1
    calls = has_calls(messages[start:end])
    for index in range(end, len(messages)):
        message = messages[index]
        if isinstance(message, ToolMessage):
            end = index + 1
        elif not calls or isinstance(message, AssistantMessage):
            break
    return end
