"""Agent definitions by version id. A version never changes, so a process reads each one once."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from agents import snapshot
from agents.errors import AgentNotFoundError

if TYPE_CHECKING:
    from agents.loop.definition import AgentDefinition
    from agents.runs.pool import Pool

_KEEP = 1_000
_QUERY = """
    SELECT v.snapshot, a.id, a.name
    FROM agents_agentversion v JOIN agents_agent a ON a.id = v.agent_id WHERE v.id = %s
"""


class Definitions:
    """A bounded cache over the version table."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._cache: OrderedDict[int, AgentDefinition] = OrderedDict()

    async def get(self, version_id: int) -> AgentDefinition:
        """The definition of a version.

        Raises:
            AgentNotFoundError: Its row is gone.
            ConfigurationError: A newer Heartbit wrote it.
        """
        known = self._cache.get(version_id)
        if known is not None:
            self._cache.move_to_end(version_id)
            return known
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_QUERY, (version_id,))).fetchone()
        if row is None:
            raise AgentNotFoundError(f"Agent version {version_id} was deleted.")
        definition = snapshot.read(version_id, row["id"], row["name"], row["snapshot"])
        self._cache[version_id] = definition
        if len(self._cache) > _KEEP:
            self._cache.popitem(last=False)
        return definition


def as_dictated(definition: AgentDefinition) -> AgentDefinition:
    """An agent for a run that is one tool call (``agents.llm.dictated``): its tools and limits."""
    changes: dict[str, Any] = {"response_schema": None, "fallback_models": [], "strong_model": ""}
    return definition.model_copy(update=changes)
