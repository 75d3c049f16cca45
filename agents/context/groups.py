"""Groups of messages that must be kept or dropped together."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from agents.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage

Group: TypeAlias = tuple[Message, ...]


def split(messages: tuple[Message, ...]) -> tuple[Group, ...]:
    """Return the conversation's groups, in order; joined, they are the conversation.

    A group is one user message, one assistant message without calls, or an assistant message with
    its calls and everything up to the last of their results. Providers refuse a call without its
    result and a result without its call, so a group is never split.
    """
    groups = []
    start = 0
    while start < len(messages):
        end = _end(messages, start)
        groups.append(messages[start:end])
        start = end
    return tuple(groups)


def first_user(groups: tuple[Group, ...]) -> int | None:
    """Return the index of the first user message: the original task."""
    users = (index for index, group in enumerate(groups) if isinstance(group[0], UserMessage))
    return next(users, None)


def newest(groups: tuple[Group, ...]) -> int:
    """Return the index of the first group that the model has not seen yet.

    User messages right after results arrived while the tools ran, so the group of those results is
    new as well. A model that never sees a result asks for it again.
    """
    start = len(groups) - 1
    while start > 0 and isinstance(groups[start][0], UserMessage):
        start -= 1
    return start if groups and has_calls(groups[start]) else max(0, len(groups) - 1)


def has_calls(group: Group) -> bool:
    """Return True if the group is an assistant message with calls."""
    return isinstance(group[0], AssistantMessage) and bool(group[0].tool_calls)


def without_thinking(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages without reasoning, which is valid only after unchanged messages."""
    return tuple(
        replace(message, thinking=())
        if isinstance(message, AssistantMessage) and message.thinking
        else message
        for message in messages
    )


def _end(messages: tuple[Message, ...], start: int) -> int:
    """Return the index after the group that begins at ``start``."""
    end = start + 1
    calls = has_calls(messages[start:end])
    for index in range(end, len(messages)):
        message = messages[index]
        if isinstance(message, ToolMessage):
            end = index + 1
        elif not calls or isinstance(message, AssistantMessage):
            break
    return end
