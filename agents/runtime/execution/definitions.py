"""Cache of definitions by version id; versions are immutable, so each is read once per process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agents.errors import AgentNotFoundError

if TYPE_CHECKING:
    from agents.runs.pool import Pool

_KEEP = 1_000
_QUERY = """
    SELECT v.snapshot, a.id, a.name
    FROM agents_agentversion v JOIN agents_agent a ON a.id = v.agent_id WHERE v.id = %s
"""

Definition = TypeVar("Definition")
#: Parses a snapshot, given its version's id and its agent's id and name.
Read = Callable[[int, int, str, Mapping[str, Any]], Definition]


class Definitions(Generic[Definition]):
    """Bounded cache of the versions of one kind of definition."""

    def __init__(self, pool: Pool, read: Read[Definition]) -> None:
        self._pool = pool
        self._read = read
        self._cache: OrderedDict[int, Definition] = OrderedDict()

    async def get(self, version_id: int) -> Definition:
        """Return the definition of a version.

        Raises:
            AgentNotFoundError: The version was deleted.
            ConfigurationError: A newer Heartbit wrote the version, or its kind is another one.
        """
        known = self._cache.get(version_id)
        if known is not None:
            self._cache.move_to_end(version_id)
            return known
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_QUERY, (version_id,))).fetchone()
        if row is None:
            raise AgentNotFoundError(f"Agent version {version_id} was deleted.")
        definition = self._read(version_id, row["id"], row["name"], row["snapshot"])
        self._cache[version_id] = definition
        if len(self._cache) > _KEEP:
            self._cache.popitem(last=False)
        return definition
