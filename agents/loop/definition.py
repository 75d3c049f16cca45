"""What the loop must know of an agent: the immutable part of its version."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """An agent version, as the engine reads it.

    Attributes:
        version_id: The row it was made from; versions never change, so it is a cache key.
        name: The agent's name.
        system_prompt: Sent with every call.
        model: ``provider:model``, or empty for the installation's default.
        tools: Name and definition hash of each tool it was given.
        team: Name and description of each agent it may delegate to.
        max_turns: Limit on model calls of one run.
        max_tokens: Limit on each answer.
        timeout_seconds: Limit on the time the run works, waits excluded.
        tool_timeout_seconds: Limit on one tool call.
        max_tool_output_bytes: Longer results are cut.
        max_parallel: Sub-agents that may work at once.
        delegation_timeout_seconds: How long the run waits for its sub-agents.
    """

    version_id: int
    name: str
    system_prompt: str
    model: str
    temperature: float | None
    tools: tuple[tuple[str, str], ...]
    team: tuple[tuple[str, str], ...]
    max_turns: int
    max_tokens: int
    timeout_seconds: float
    tool_timeout_seconds: float
    max_tool_output_bytes: int
    max_parallel: int
    delegation_timeout_seconds: float
