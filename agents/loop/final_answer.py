"""When a model's message is the run's final answer: free text, or what the response schema wants.

Structured output is a synthetic tool, ``__respond__``, whose parameters are the schema. The model
works with its tools as it likes; once it answers in words it is asked for that call alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.journal.events import Event, RunSucceeded, ToolFinished
from agents.output import check, respond
from agents.output.text import as_text

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.llm.messages import AssistantMessage
    from agents.loop.state import CallState, RunState


def build_ending(
    definition: AgentDefinition, message: AssistantMessage, finish_reason: str
) -> RunSucceeded | None:
    """The end that a message means; None when it is no final answer, or does not fit the schema."""
    schema = definition.response_schema
    if schema is None:
        return None if message.tool_calls else RunSucceeded(message.text, finish_reason)
    calls = message.tool_calls
    if len(calls) > 1 or (calls and calls[0].name != respond.NAME):
        return None
    if not calls and not message.text.strip():
        return None  # silence is not the empty object
    found = check.parse_answer(schema, calls[0].arguments if calls else message.text)
    if not isinstance(found, check.ValidAnswer):
        return None
    text = message.text if calls and message.text else as_text(found.value)
    return RunSucceeded(text, finish_reason, structured=found.value)


def respond_call_events(message: AssistantMessage, turn: int) -> tuple[Event, ...]:
    """What else is journaled with the end: the call that brought the answer is served."""
    return (ToolFinished(f"{turn}.0", "ok", "Accepted."),) if message.tool_calls else ()


def reject_response(
    definition: AgentDefinition, state: RunState, call: CallState
) -> ToolFinished | None:
    """Why a ``__respond__`` call was not accepted; None for every other call."""
    schema = definition.response_schema
    if schema is None or call.call.name != respond.NAME:
        return None
    if len(state.calls) > 1:
        text = f"Call {respond.NAME} alone, once the results of your other calls are in."
        return ToolFinished(call.call_id, "refused", text)
    found = check.parse_answer(schema, call.call.arguments)
    if isinstance(found, check.InvalidAnswer):
        return ToolFinished(call.call_id, "invalid", found.problem)
    text = "More was said meanwhile: take it into account, then answer again."
    return ToolFinished(call.call_id, "refused", text)
