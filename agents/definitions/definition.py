"""What the loop must know of an agent: the immutable part of its version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.context import strategy
from agents.definitions.spec import AgentSettings, ToolGrant
from agents.llm.wrappers.retry import RetryPolicy

if TYPE_CHECKING:
    from agents.context.strategy import Strategy


class BoundTool(ToolGrant):
    """A tool as an agent was given it.

    Attributes:
        name: In the registry, if it is still there.
        pinned: The hash of its definition when the agent was published.
    """

    name: str
    pinned: str


class AgentDefinition(AgentSettings):
    """An agent version, as the engine reads it.

    Settings that belong to no version (``queue``, ``enabled`` ...) have their defaults here: read
    them from the agent's row.

    Attributes:
        version_id: The row it was made from; versions never change, so it is a cache key.
        agent_id: The agent's row; its standing permissions hang there.
        name: The agent's name.
        tools: The tools it was given.
        team: Name and description of each agent it may delegate to.
    """

    version_id: int
    agent_id: int
    name: str
    description: str = ""
    tools: tuple[BoundTool, ...] = ()
    team: tuple[tuple[str, str], ...] = ()

    @property
    def retry(self) -> RetryPolicy:
        """Return the policy for repeating a failed model call."""
        return RetryPolicy(
            max_retries=self.max_retries,
            base_delay_ms=self.retry_base_delay_ms,
            max_delay_ms=self.retry_max_delay_ms,
        )

    @property
    def context(self) -> Strategy:
        """Return the strategy that selects what the model is sent of a conversation."""
        return strategy.parse(self.context_strategy)
