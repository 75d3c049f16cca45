"""An agent version's snapshot: canonical JSON that the loop's definition is read from. Pure.

The snapshot says what the model sees and what limits hold. It has a format version; it has no own
name, no times and no secrets, so an unchanged agent always hashes to the same version.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from agents.loop.definition import AgentDefinition
from heartbit_site.base.errors import ConfigurationError

FORMAT = 1


def digest(snapshot: dict[str, Any]) -> str:
    """SHA-256 of the snapshot's canonical JSON (sorted keys, no white space, UTF-8)."""
    text = json.dumps(snapshot, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read(version_id: int, name: str, snapshot: dict[str, Any]) -> AgentDefinition:
    """The definition that a stored snapshot holds.

    Raises:
        ConfigurationError: A newer Heartbit wrote it.
    """
    if snapshot.get("format") != FORMAT:
        raise ConfigurationError(
            f"Version {version_id} of agent {name!r} has snapshot format "
            f"{snapshot.get('format')!r}; this Heartbit reads format {FORMAT}: upgrade the workers."
        )
    limits = snapshot["limits"]
    return AgentDefinition(
        version_id=version_id,
        name=name,
        system_prompt=snapshot["system_prompt"],
        model=snapshot["model"],
        temperature=snapshot["temperature"],
        tools=tuple((tool["name"], tool["hash"]) for tool in snapshot["tools"]),
        team=tuple((member["name"], member["description"]) for member in snapshot["team"]),
        max_turns=limits["max_turns"],
        max_tokens=limits["max_tokens"],
        timeout_seconds=limits["timeout_seconds"],
        tool_timeout_seconds=limits["tool_timeout_seconds"],
        max_tool_output_bytes=limits["max_tool_output_bytes"],
        max_parallel=limits["max_parallel"],
        delegation_timeout_seconds=limits["delegation_timeout_seconds"],
    )
