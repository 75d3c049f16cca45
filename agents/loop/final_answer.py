"""Final answer of a run: free text, or JSON for the agent's response schema.

Structured output is a synthetic tool, ``__respond__``, whose parameters are the schema. The model
may use its other tools freely; once it answers in text, the next request asks only for that call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.journal.events import Event, RunSucceeded, ToolFinished
from agents.llm.messages import AssistantMessage, is_empty_answer
from agents.loop.call_state import CallingState, CallState
from agents.output import check, respond
from agents.output.text import as_text

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition


def build_ending(
    definition: AgentDefinition, message: AssistantMessage, finish_reason: str
) -> RunSucceeded | None:
    """Return the run's end if a message is a final answer that fits the schema, else None.

    Empty answers are left to ``agents.loop.empty_answers``.
    """
    if is_empty_answer(message):
        return None
    schema = definition.response_schema
    if schema is None:
        return None if message.tool_calls else RunSucceeded(message.text, finish_reason)
    calls = message.tool_calls
    if len(calls) > 1 or (calls and calls[0].name != respond.NAME):
        return None
    found = check.parse_answer(schema, calls[0].arguments if calls else message.text)
    if not isinstance(found, check.ValidAnswer):
        return None
    text = message.text if calls and message.text else as_text(found.value)
    return RunSucceeded(text, finish_reason, structured=found.value)


def respond_call_events(message: AssistantMessage, turn: int) -> tuple[Event, ...]:
    """Return the result of the call that carried the answer, to journal with the end."""
    return (ToolFinished(f"{turn}.0", "ok", "Accepted."),) if message.tool_calls else ()


def reject_response(
    definition: AgentDefinition, state: CallingState, call: CallState
) -> ToolFinished | None:
    """Return why a ``__respond__`` call was not accepted; None for every other call."""
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
