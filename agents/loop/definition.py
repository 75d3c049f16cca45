"""What the loop must know of an agent: the immutable part of its version."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agents.context.strategy import Strategy, Unlimited
from agents.llm.wrappers.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

Approval = Literal["", "never", "effects", "always", "when"]


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool as an agent was given it.

    Attributes:
        name: In the registry.
        pinned: The hash of its definition when the agent was published.
        approval: Whether its calls wait for a person; empty: as the agent says.
        approval_when: For ``when``: the JSON Schema of the arguments that are asked for.
        defaults: Arguments used where the model gives none.
        approval_seconds: When a call that waits is refused; None: as the agent says.
        approvals: How many people have to approve a call.
        approvers: The group whose members may decide; empty: whoever may decide at all.
        escalate_minutes: When more people may decide a call that nobody has; None: never.
        escalate_group: Whose members may then as well; empty: whoever may decide at all.
    """

    name: str
    pinned: str
    approval: Approval = ""
    approval_when: Mapping[str, Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    approval_seconds: int | None = None
    approvals: int = 1
    approvers: str = ""
    escalate_minutes: int | None = None
    escalate_group: str = ""


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """An agent version, as the engine reads it.

    Attributes:
        version_id: The row it was made from; versions never change, so it is a cache key.
        agent_id: The agent's row; its standing permissions hang there.
        name: The agent's name.
        system_prompt: Sent with every call.
        model: ``provider:model``, or empty for the installation's default.
        stop: Texts that end an answer.
        reasoning_effort: How long a reasoning model thinks; empty: the provider's default.
        fallback_models: Asked in this order when the model fails.
        strong_model: Takes over once two answers in a row did not do; empty: none.
        retry: How a failed model call is repeated.
        tools: The tools it was given.
        approval: Which of their calls wait for a person.
        approval_seconds: When a call that waits is refused; None: never.
        team: Name and description of each agent it may delegate to.
        uncertain_calls: What follows when a worker died while an at-most-once call ran.
        context: What of a long conversation is sent.
        response_schema: JSON Schema of the final answer; None: free text.
        max_turns: Limit on model calls of one run.
        max_tokens: Limit on each answer.
        max_run_tokens: Limit on what one run and its sub-agents use; None: none.
        max_run_cost_usd: Limit on what that costs, as far as prices are known.
        timeout_seconds: Limit on the time the run works, waits excluded.
        tool_timeout_seconds: Limit on one tool call.
        max_tool_output_bytes: Longer results are cut.
        max_parallel: Sub-agents that may work at once.
        delegation_timeout_seconds: How long the run waits for its sub-agents.
    """

    version_id: int
    agent_id: int
    name: str
    system_prompt: str
    model: str
    temperature: float | None
    tools: tuple[BoundTool, ...]
    team: tuple[tuple[str, str], ...]
    max_turns: int
    max_tokens: int
    timeout_seconds: float
    tool_timeout_seconds: float
    max_tool_output_bytes: int
    max_parallel: int
    delegation_timeout_seconds: float
    stop: tuple[str, ...] = ()
    reasoning_effort: Literal["", "none", "low", "medium", "high"] = ""
    fallback_models: tuple[str, ...] = ()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    approval: Approval = "never"
    approval_seconds: int | None = None
    uncertain_calls: Literal["ask", "tell", "retry"] = "ask"
    context: Strategy = field(default_factory=Unlimited)
    response_schema: Mapping[str, Any] | None = None
    strong_model: str = ""
    max_run_tokens: int | None = None
    max_run_cost_usd: Decimal | None = None
