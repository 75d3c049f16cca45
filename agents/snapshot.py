"""An agent version's snapshot: canonical JSON that the loop's definition is read from. Pure.

The snapshot says what the model sees and what limits hold. It has a format version; it has no own
name, no times and no secrets, so an unchanged agent always hashes to the same version.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

from agents.context import strategy
from agents.llm.wrappers.retry import RetryPolicy
from agents.loop.definition import AgentDefinition, BoundTool
from heartbit_site.base.errors import ConfigurationError

FORMAT = 2
_READABLE = (1, 2)  # format 1 lacks what its reader takes the defaults for


def digest(snapshot: dict[str, Any]) -> str:
    """SHA-256 of the snapshot's canonical JSON (sorted keys, no white space, UTF-8)."""
    text = json.dumps(snapshot, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read(version_id: int, agent_id: int, name: str, snapshot: dict[str, Any]) -> AgentDefinition:
    """The definition that a stored snapshot holds.

    Raises:
        ConfigurationError: A newer Heartbit wrote it.
    """
    if snapshot.get("format") not in _READABLE:
        raise ConfigurationError(
            f"Version {version_id} of agent {name!r} has snapshot format "
            f"{snapshot.get('format')!r}; this Heartbit reads formats up to {FORMAT}: upgrade the "
            "workers."
        )
    limits = snapshot["limits"]
    cost = limits.get("max_run_cost_usd")
    retry = snapshot.get("retry", {})
    return AgentDefinition(
        version_id=version_id,
        agent_id=agent_id,
        name=name,
        system_prompt=snapshot["system_prompt"],
        model=snapshot["model"],
        temperature=snapshot["temperature"],
        stop=tuple(snapshot.get("stop", ())),
        reasoning_effort=snapshot.get("reasoning_effort", ""),
        fallback_models=tuple(snapshot.get("fallback_models", ())),
        retry=RetryPolicy(**retry),
        tools=tuple(map(_tool, snapshot["tools"])),
        approval=snapshot.get("approval", "never"),
        approval_seconds=snapshot.get("approval_seconds"),
        context=strategy.parse(snapshot.get("context_strategy", {"type": "unlimited"})),
        response_schema=snapshot.get("response_schema"),
        team=tuple((member["name"], member["description"]) for member in snapshot["team"]),
        max_turns=limits["max_turns"],
        max_tokens=limits["max_tokens"],
        timeout_seconds=limits["timeout_seconds"],
        tool_timeout_seconds=limits["tool_timeout_seconds"],
        max_tool_output_bytes=limits["max_tool_output_bytes"],
        max_run_tokens=limits.get("max_run_tokens"),
        max_run_cost_usd=None if cost is None else Decimal(cost),
        strong_model=snapshot.get("strong_model", ""),
        uncertain_calls=snapshot.get("uncertain_calls", "ask"),
        max_parallel=limits["max_parallel"],
        delegation_timeout_seconds=limits["delegation_timeout_seconds"],
    )


def _tool(tool: dict[str, Any]) -> BoundTool:
    return BoundTool(
        name=tool["name"],
        pinned=tool["hash"],
        approval=tool.get("approval", ""),
        approval_when=tool.get("approval_when"),
        defaults=tool.get("defaults", {}),
        approval_seconds=tool.get("approval_seconds"),
        approvals=tool.get("approvals", 1),
        approvers=tool.get("approvers", ""),
        escalate_minutes=tool.get("escalate_minutes"),
        escalate_group=tool.get("escalate_group", ""),
    )
