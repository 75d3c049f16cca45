"""Model request for a run's state. Pure: the same state gives the same request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.context.apply import fit
from agents.llm.messages import AssistantMessage, ChatRequest, Message, ToolDefinition, UserMessage
from agents.loop import empty_answers, execution_mode, skills
from agents.loop.agent_state import AgentState
from agents.loop.known import with_block
from agents.output import respond

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition

ANSWER_NOW = f"Give your final answer now: call {respond.NAME} with it, and nothing else."


def build_request(
    state: AgentState,
    definition: AgentDefinition,
    *,
    tools: tuple[ToolDefinition, ...],
    examples: tuple[Message, ...] = (),
    timeout_seconds: float = 600.0,
    known: str = "",
) -> ChatRequest:
    """Return the next request to the model.

    Args:
        state: Fold of the run's journal.
        definition: Definition of the run's agent.
        tools: Tools offered to the model, in a stable order.
        examples: Example calls of these tools, for models that need examples.
        timeout_seconds: Working time left to the run.
        known: Block of memories for the model (``agents.loop.known``).
    """
    messages = fit(state.messages, definition.context, task=state.task_message)
    messages = with_block(messages, known, state.task_message)
    schema = definition.response_schema
    messages = empty_answers.retry_conversation(messages) if schema is None else _prompted(messages)
    request = ChatRequest(
        system=_system(state, definition),
        messages=messages,
        max_tokens=definition.max_tokens,
        temperature=definition.temperature,
        stop=tuple(definition.stop),
        reasoning_effort=definition.reasoning_effort,
        timeout_seconds=max(1.0, timeout_seconds),
        attempts=state.attempts,
    )
    if schema is None:
        return request.with_tools(tools, examples=examples)
    answer = respond.definition(schema)
    if tools and not state.answers:
        return request.with_tools((*tools, answer), examples=examples)
    return request.with_tools((answer,), choice="required")


def _system(state: AgentState, definition: AgentDefinition) -> str:
    texts = (
        definition.system_prompt,
        skills.note(definition.pinned_skills),
        execution_mode.note(definition.execution_mode, state.task),
    )
    return "\n\n".join(filter(None, texts))


def _prompted(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the conversation, with a request for ``__respond__`` after an answer in free text."""
    if isinstance(messages[-1], AssistantMessage):
        return (*messages, UserMessage(ANSWER_NOW))
    return messages
