"""Ids of tool calls, unique in a conversation. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agents.llm.messages import AssistantMessage, Message


def with_unique_ids(
    message: AssistantMessage, turn: int, earlier: Iterable[Message]
) -> AssistantMessage:
    """Return an answer whose calls have ids that no other call of the conversation has.

    Some servers count from 0 in each answer, or send one id for all calls, which would mix up the
    results. Unique ids of a provider are kept: some models require their own ids back.

    Args:
        message: The answer.
        turn: The answer's turn.
        earlier: The conversation before it.
    """
    answers = (one for one in earlier if isinstance(one, AssistantMessage))
    taken = {call.id for answer in answers for call in answer.tool_calls} | {""}
    calls = []
    for index, call in enumerate(message.tool_calls):
        own = replace(call, id=f"heartbit_{turn}_{index}") if call.id in taken else call
        taken.add(own.id)
        calls.append(own)
    return replace(message, tool_calls=tuple(calls))
