"""Retry of an empty final answer with the agent's stronger model. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.llm.messages import AssistantMessage, Message, UserMessage
from agents.loop.state import POOR_ANSWERS

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.loop.state import RunState

ANSWER = "Your last answer was empty. Give your answer now."


def is_empty_answer(message: Message) -> bool:
    """Return True if a message is an answer without text or tool calls."""
    return (
        isinstance(message, AssistantMessage)
        and not message.tool_calls
        and not message.text.strip()
    )


def may_retry(definition: AgentDefinition, message: AssistantMessage) -> bool:
    """Return True if an answer, once journaled, may be retried."""
    return bool(definition.strong_model) and is_empty_answer(message)


def should_retry(definition: AgentDefinition, state: RunState, message: AssistantMessage) -> bool:
    """Return True if the run's last answer is retried; the stronger model's is final."""
    return may_retry(definition, message) and state.poor_answers <= POOR_ANSWERS


def retry_conversation(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Replace empty answers at the end of a conversation by a request to answer."""
    end = len(messages)
    while end > 1 and is_empty_answer(messages[end - 1]):
        end -= 1
    return messages if end == len(messages) else (*messages[:end], UserMessage(ANSWER))
