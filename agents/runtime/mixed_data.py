"""The rule on mixed data: after private data and text by outsiders, nothing is sent out unasked.

What a tree of runs has read is in its journals, so the rule holds for the first call of a new turn,
for sub-agents, and after a crash. Forks and later runs of a conversation continue what was read
before them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.choices import CallStatus, MixedData
from agents.loop import delegation
from agents.output import respond
from agents.runs.pool import call
from heartbit_site.base.toolspec import Label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from uuid import UUID

    from agents.runs.pool import Pool
    from agents.runtime.lookups import MixedDataRule
    from heartbit_site.base.toolspec import ToolSpec

# Calls that never reached their tool have read nothing.
_READ = [CallStatus.OK, CallStatus.ERROR, CallStatus.TIMEOUT, CallStatus.UNCERTAIN]
_OWN = frozenset({delegation.NAME, respond.NAME})  # what sub-agents have read is in their own calls
_QUERY = """
    WITH RECURSIVE tree (id, conversation_id, forked_from_id) AS (
        SELECT r.id, r.conversation_id, r.forked_from_id FROM agents_run r WHERE r.id = %s
        UNION
        SELECT b.id, b.conversation_id, b.forked_from_id
        FROM tree t
        JOIN agents_run e ON e.id = t.forked_from_id OR e.conversation_id = t.conversation_id
        JOIN agents_run b ON b.id = e.root_id),
    runs AS (SELECT r.id FROM tree t JOIN agents_run r ON r.root_id = t.id)
    SELECT coalesce(array_agg(DISTINCT tool), '{}') AS tools
    FROM (
        SELECT c.tool FROM runs r JOIN agents_toolcall c ON c.run_id = r.id
        WHERE c.status = ANY (%s)
        UNION ALL
        SELECT 'recall' FROM runs r
        JOIN agents_runevent e ON e.run_id = r.id AND e.type = 'memories.recalled') AS read
"""


def mixed_data_rule(
    pool: Pool, root_id: UUID, *, setting: str, find: Callable[[str], ToolSpec | None]
) -> MixedDataRule:
    """Return the rule for the calls of one run; it reads the journals only if a call sends data.

    Args:
        pool: Connections to the journals.
        root_id: Root of the run tree.
        setting: The agent's ``mixed_data``.
        find: Returns a tool of the run or of this process by the name that a model wrote.
    """

    def having(label: Label, names: Iterable[str]) -> list[str]:
        # A tool that this process does not know may have read anything.
        found = ((name, find(name)) for name in names)
        return [name for name, spec in found if spec is None or label in spec.labels]

    async def reason(spec: ToolSpec) -> str | None:
        if Label.OUTBOUND not in spec.labels or setting == MixedData.ALLOW:
            return None
        row = await call(pool, _QUERY, (root_id, _READ))
        read = sorted(set(row["tools"] if row is not None else ()) - _OWN)
        private, untrusted = having(Label.PRIVATE, read), having(Label.UNTRUSTED, read)
        if not private or not untrusted:
            return None
        return (
            f"{spec.name} sends data out, after private data ({_listed(private)}) and text by "
            f"outsiders ({_listed(untrusted)}) were read."
        )

    return reason


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
