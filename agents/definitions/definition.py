"""Agent definitions: the immutable part of an agent's version, in the form that the loop reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from agents.context import strategy
from agents.context.strategy import Strategy
from agents.definitions.spec import AgentSettings, ToolGrant
from agents.llm.wrappers.retry import RetryPolicy

#: Tools that every run below another one has, unless its agent turns them off.
BLACKBOARD: Final = ("blackboard_list", "blackboard_read", "blackboard_write")
#: Tokens of memories of an agent that only says that it remembers.
USUAL_MEMORY_TOKENS: Final = 1_000


class BoundTool(ToolGrant):
    """A tool bound to an agent.

    Attributes:
        name: Name in the registry, which may no longer have the tool.
        pinned: Hash of its definition when the agent was published.
    """

    name: str
    pinned: str


class PinnedSkill(NamedTuple):
    """A skill of an agent's version.

    Attributes:
        name: The skill's name.
        description: Purpose and use of the skill, as of the agent's publication.
        hash: Hash of the skill's version.
    """

    name: str
    description: str
    hash: str


class TeamWorkflow(NamedTuple):
    """A workflow of an agent's team, which is a tool of the agent.

    Attributes:
        name: The workflow's name.
        description: Its purpose, as of the agent's publication.
        version: Hash of the version that runs; empty: the current one.
        input: JSON Schema of its input; None: a text.
    """

    name: str
    description: str
    version: str
    input: Mapping[str, Any] | None


class AgentDefinition(AgentSettings):
    """An agent version, in the form that the engine reads.

    Settings that belong to no version (``queue``, ``enabled`` ...) have their defaults here; read
    the actual values from the agent's row.

    Attributes:
        version_id: Id of the version's row; versions never change, so it is a cache key.
        agent_id: Id of the agent's row, which owns the standing permissions.
        name: The agent's name.
        tools: The tools bound to it.
        team: Name and description of each agent it may delegate to.
        workflows: The workflows of its team.
        pinned_skills: Its skills.
        turned_off: Names of tools of ``BLACKBOARD`` that it does not get.
    """

    version_id: int
    agent_id: int
    name: str
    description: str = ""
    tools: tuple[BoundTool, ...] = ()
    team: tuple[tuple[str, str], ...] = ()
    workflows: tuple[TeamWorkflow, ...] = ()
    pinned_skills: tuple[PinnedSkill, ...] = ()
    turned_off: tuple[str, ...] = ()

    @property
    def delegates(self) -> bool:
        """True if its team has any member."""
        return bool(self.team or self.workflows)

    def call_seconds(self, bound: ToolGrant | None) -> int:
        """Return the time limit of a tool's call in seconds; the tool's own limit applies, too.

        Args:
            bound: The tool's binding; None: the tool has none.
        """
        own = None if bound is None else bound.timeout_seconds
        agents = self.tool_timeout_seconds
        return agents if own is None else min(own, agents)

    @property
    def recalled_tokens(self) -> int:
        """Tokens of memories that its runs are given at their start; 0: none."""
        return self.memory_tokens or (USUAL_MEMORY_TOKENS if self.memory else 0)

    @property
    def retry(self) -> RetryPolicy:
        """Policy for retrying a failed model call."""
        return RetryPolicy(
            max_retries=self.max_retries,
            base_delay_ms=self.retry_base_delay_ms,
            max_delay_ms=self.retry_max_delay_ms,
        )

    @property
    def context(self) -> Strategy:
        """Strategy that selects the part of a conversation that is sent to the model."""
        return strategy.parse(self.context_strategy)
