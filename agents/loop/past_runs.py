"""Earlier runs of a conversation as messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.llm.messages import AssistantMessage, Message, UserMessage


def to_messages(thread: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the task, steering messages and answer of each earlier run.

    Tool calls are left out: the answer covers their results, and a thread of a hundred runs would
    otherwise contain every page that was ever read.
    """
    messages: list[Message] = []
    for run in thread:
        if run["task"]:  # a client's chat may begin with the assistant's words
            messages.append(UserMessage(run["task"], tuple(run.get("images") or ())))
        messages += [UserMessage(text) for text in run["steers"] or ()]
        if run["output"] is not None:  # an interrupted run has no answer, but its task counts
            messages.append(AssistantMessage(run["output"]))
    return messages
