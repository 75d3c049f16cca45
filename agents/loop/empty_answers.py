"""Empty answers: ask the model again, then the stronger model, then fail the run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from agents.journal.events import RunFailed
from agents.llm.messages import Message, UserMessage, is_empty_answer
from agents.loop.agent_state import POOR_ANSWERS, AgentState

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition

ANSWER = "Your last answer was empty. Give your answer now."
_LASTING = ("length", "refused")  # finish reasons that the same request would produce again


def should_retry(definition: AgentDefinition, state: AgentState) -> bool:
    """Return True if an empty last answer is requested again."""
    if state.finish_reason in _LASTING and not definition.strong_model:
        return False
    return _empty_at_end(state.conversation) <= POOR_ANSWERS


def build_failure(definition: AgentDefinition, state: AgentState) -> RunFailed:
    """Return the end of a run whose last answer was empty."""
    match state.finish_reason:
        case "length":
            reason = (
                "reached the limit of its answer before it wrote a word of it: raise max_tokens of "
                f"{definition.name} ({definition.max_tokens:,} now), or lower its reasoning_effort."
            )
        case "refused":
            reason = "refused to answer, without a word: ask for something else."
        case finish:
            times = _empty_at_end(state.conversation)
            what = "an empty answer" if times == 1 else f"{times} empty answers in a row"
            reason = (
                f"gave {what} (finish reason: {finish}): ask differently, or choose another model."
            )
    message = f"The model of {definition.name} {reason}"
    return RunFailed(kind="model", message=message, partial=state.partial)


def retry_conversation(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Replace empty answers at the end of a conversation by a request to answer."""
    empty = _empty_at_end(messages)
    return (*messages[: len(messages) - empty], UserMessage(ANSWER)) if empty else messages


def _empty_at_end(messages: Sequence[Message]) -> int:
    return sum(1 for _ in takewhile(is_empty_answer, reversed(messages)))
