"""An empty answer where a stronger model stands by: the run is asked on instead of ended. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.llm.messages import AssistantMessage, Message, UserMessage
from agents.loop.state import POOR_ANSWERS

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.loop.state import RunState

ANSWER = "Your last answer was empty. Give your answer now."


def is_empty_answer(message: Message) -> bool:
    """Whether a message is an answer that says nothing and calls nothing."""
    return (
        isinstance(message, AssistantMessage)
        and not message.tool_calls
        and not message.text.strip()
    )


def may_retry(definition: AgentDefinition, message: AssistantMessage) -> bool:
    """Whether an answer, once it is journaled, may be one that is asked for again."""
    return bool(definition.strong_model) and is_empty_answer(message)


def should_retry(definition: AgentDefinition, state: RunState, message: AssistantMessage) -> bool:
    """Whether the run's last answer is asked for again; the stronger model's is the last one."""
    return may_retry(definition, message) and state.poor_answers <= POOR_ANSWERS


def retry_conversation(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The conversation without the silence at its end, asked on; as it is if there is none."""
    end = len(messages)
    while end > 1 and is_empty_answer(messages[end - 1]):
        end -= 1
    return messages if end == len(messages) else (*messages[:end], UserMessage(ANSWER))
