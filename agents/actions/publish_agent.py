"""Make what an agent is now the version that its next runs are pinned to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Max

from agents import snapshot
from agents.actions.check_agent import check_agent
from agents.choices import UncertainCalls
from agents.models import Agent, AgentVersion
from heartbit_site.base.audit import SYSTEM, Actor, record
from heartbit_site.base.errors import ConfigurationError
from tools.registry import closest, definition_hash, registry

if TYPE_CHECKING:
    from agents.models import ToolBinding
    from heartbit_site.base.toolspec import ToolSpec


@dataclass(frozen=True, slots=True)
class Publication:
    """What publishing came to.

    Attributes:
        version: The current one now.
        before: The number of the one before; None: there was none.
    """

    version: AgentVersion
    before: int | None

    def __bool__(self) -> bool:
        """Whether another version is the current one now."""
        return self.before != self.version.number

    def said(self) -> dict[str, Any]:
        """What an entry of the audit holds of it: from which version to which, if it differs."""
        return {"version": [self.before, self.version.number]} if self else {}


@transaction.atomic
def publish_agent(agent: Agent, *, by: Actor = SYSTEM) -> AgentVersion:
    """Do it, and write it into the audit if another version is the current one now.

    Args:
        agent: Which.
        by: Who publishes it.

    Raises:
        ConfigurationError: As ``make_current``.
    """
    made = make_current(agent)
    record_publication(agent, made, by=by)
    return made.version


def record_publication(agent: Agent, made: Publication, *, by: Actor) -> None:
    """Write it into the audit, last in the transaction.

    Agents that a file or a program brought are nobody's to change: their runs say whose they are.
    """
    if made and not agent.origin:
        record(
            by,
            "agent.publish",
            workspace=agent.workspace,
            target=f"agent:{agent.pk}",
            label=agent.name,
            details=made.said(),
        )


@transaction.atomic
def make_current(agent: Agent) -> Publication:
    """Snapshot the agent; the same content gives the version that is already there.

    For verbs that publish several agents, or say more of it than that: whoever calls this writes
    into the audit, when every row is locked that will be.

    Raises:
        ConfigurationError: It is bound to a tool that is not installed, or its context strategy,
            response schema, stop texts, fallback models or a tool's rule cannot be used.
    """
    check_agent(agent)
    locked = Agent.objects.select_for_update().get(pk=agent.pk)
    numbers = Agent.objects.values_list("current_version__number", flat=True)
    before = numbers.get(pk=locked.pk)
    content = _content(locked)
    digest = snapshot.digest(content)
    version = AgentVersion.objects.filter(agent=locked, hash=digest).first()
    if version is None:
        newest = AgentVersion.objects.filter(agent=locked).aggregate(newest=Max("number"))["newest"]
        version = AgentVersion.objects.create(
            agent=locked, number=(newest or 0) + 1, hash=digest, snapshot=content
        )
    if locked.current_version_id != version.pk:
        Agent.objects.filter(pk=locked.pk).update(current_version=version)
    agent.current_version = version
    return Publication(version, before)


def _content(agent: Agent) -> dict[str, Any]:
    bindings = agent.bindings.filter(enabled=True).order_by("tool")
    return {
        "format": snapshot.FORMAT,
        "system_prompt": agent.system_prompt,
        "model": agent.model,
        "temperature": agent.temperature,
        "stop": agent.stop,
        "reasoning_effort": agent.reasoning_effort,
        "fallback_models": agent.fallback_models,
        "retry": {
            "max_retries": agent.max_retries,
            "base_delay_ms": agent.retry_base_delay_ms,
            "max_delay_ms": agent.retry_max_delay_ms,
        },
        "context_strategy": agent.context_strategy,
        "response_schema": agent.response_schema,
        "approval": agent.approval,
        "tools": [_binding(binding) for binding in bindings],
        "team": [
            {"name": member.name, "description": member.description}
            for member in agent.team.order_by("name")
        ],
        "limits": {
            "max_turns": agent.max_turns,
            "max_tokens": agent.max_tokens,
            "timeout_seconds": agent.timeout_seconds,
            "tool_timeout_seconds": agent.tool_timeout_seconds,
            "max_tool_output_bytes": agent.max_tool_output_bytes,
            "max_parallel": agent.max_parallel,
            "delegation_timeout_seconds": agent.delegation_timeout_seconds,
            **_run_limits(agent),
        },
        **_if_set(agent),
    }


def _run_limits(agent: Agent) -> dict[str, Any]:
    """Limits that came later; left out where there are none, so that old hashes stay."""
    limits: dict[str, Any] = {}
    if agent.max_run_tokens is not None:
        limits["max_run_tokens"] = agent.max_run_tokens
    if agent.max_run_cost_usd is not None:
        limits["max_run_cost_usd"] = str(agent.max_run_cost_usd)  # JSON's numbers are no money
    return limits


def _if_set(agent: Agent) -> dict[str, Any]:
    """What else came later, likewise."""
    content: dict[str, Any] = {}
    if agent.strong_model:
        content["strong_model"] = agent.strong_model
    if agent.uncertain_calls != UncertainCalls.ASK:
        content["uncertain_calls"] = agent.uncertain_calls
    if agent.approval_seconds is not None:
        content["approval_seconds"] = agent.approval_seconds
    return content


def _binding(binding: ToolBinding) -> dict[str, Any]:
    spec = _tool(binding.agent, binding.tool)
    return {
        "name": spec.name,
        "hash": definition_hash(spec),
        "approval": binding.approval,
        "approval_when": binding.approval_when,
        "defaults": binding.defaults,
        **_decided_by(binding),
    }


def _decided_by(binding: ToolBinding) -> dict[str, Any]:
    """Who decides a tool's calls and until when, where that says anything, likewise."""
    content: dict[str, Any] = {}
    if binding.approval_seconds is not None:
        content["approval_seconds"] = binding.approval_seconds
    if binding.approvals != 1:
        content["approvals"] = binding.approvals
    if binding.approvers:
        content["approvers"] = binding.approvers
    if binding.escalate_minutes is not None:
        content["escalate_minutes"] = binding.escalate_minutes
        content["escalate_group"] = binding.escalate_group
    return content


def _tool(agent: Agent, name: str) -> ToolSpec:
    spec = registry.get(name)
    if spec is None:
        near = closest(name, registry)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(registry))}."
        raise ConfigurationError(f"Agent {agent.name!r} is given a tool {name!r}; {hint}")
    return spec
