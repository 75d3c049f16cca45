"""What was said on a run's conversation before it, as messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.llm.messages import AssistantMessage, Message, UserMessage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def to_messages(thread: Sequence[Mapping[str, Any]]) -> list[Message]:
    """The words of earlier runs: what was asked, what was said meanwhile, what was answered.

    Their tool calls are left out: an answer says what came of them, and a thread of a hundred runs
    must not carry every page that was ever read.
    """
    messages: list[Message] = []
    for run in thread:
        messages.append(UserMessage(run["task"]))
        messages += [UserMessage(text) for text in run["steers"] or ()]
        if (
            run["output"] is not None
        ):  # else it was interrupted; what was asked was said all the same
            messages.append(AssistantMessage(run["output"]))
    return messages
