"""The rule on mixed data: after private data and text by outsiders, sending data needs an approval.

The journals of a run tree record its sources, so the rule applies to the first call of a new turn,
to sub-agents, and after a crash. Forks and later runs of a conversation inherit the sources of the
runs before them. Texts pass sources on, too: a run inherits the sources of the senders of its
agents' messages and of the run that scheduled it; a channel's run has its outsider's text, and a
run that recalled memories has their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from agents.choices import CallStatus, MixedData
from agents.definitions.triggers import TRIGGERS
from agents.loop import delegation
from agents.output import respond
from agents.runs.pool import Pool, call
from agents.runtime.files.folder import GIVEN
from agents.runtime.rights.data_flow import FOLDER_READERS, TextSource, labels_of
from agents.runtime.rights.lookups import MixedDataRule
from heartbit_site.base.audit import BY_CHANNEL, BY_SCHEDULE, BY_TRIGGER
from heartbit_site.base.query import fetch_named
from heartbit_site.base.toolspec import UNDECLARED, Label, Origin, ToolSpec
from tools.texts.http_messages import PRIVATE_HOST

# Calls that never reached their tool read nothing.
_READ = [CallStatus.OK, CallStatus.ERROR, CallStatus.TIMEOUT, CallStatus.UNCERTAIN]
_OWN = frozenset({delegation.NAME, respond.NAME})  # sub-agents' own calls record what they read
_UNKNOWN: Final = UUID(int=0)
# Roots of the trees whose texts a tree has read. If a sender's run was deleted, its own id. A run
# with hops was scheduled by an agent; if that schedule was deleted, an id that no run has.
_QUERY: Final = """
    WITH RECURSIVE tree (id) AS (
        SELECT %(root)s::uuid
        UNION
        SELECT found.id FROM tree t CROSS JOIN LATERAL (
            SELECT e.root_id AS id
            FROM agents_run r
            JOIN agents_run e ON e.id = r.forked_from_id OR e.conversation_id = r.conversation_id
            WHERE r.id = t.id
            UNION ALL
            SELECT coalesce(w.root_id, m.source_run_id)
            FROM agents_run r
            JOIN agents_inboxentry i ON i.run_id = r.id
            JOIN agents_message m ON m.id = i.message_id
            LEFT JOIN agents_run w ON w.id = m.source_run_id
            WHERE r.root_id = t.id AND m.source_run_id IS NOT NULL
            UNION ALL
            SELECT coalesce(w.root_id, m.source_run_id)
            FROM agents_message m LEFT JOIN agents_run w ON w.id = m.source_run_id
            WHERE m.run_id = t.id AND m.source_run_id IS NOT NULL
            UNION ALL
            SELECT coalesce(w.root_id, s.created_by_run_id, %(unknown)s::uuid)
            FROM agents_run r
            LEFT JOIN scheduling_firing f ON f.run_id = r.id
            LEFT JOIN scheduling_schedule s ON s.id = f.schedule_id
            LEFT JOIN agents_run w ON w.id = s.created_by_run_id
            WHERE r.id = t.id AND r.hops > 0 AND r.started_by LIKE %(schedule)s) found),
    runs AS (SELECT r.* FROM tree t JOIN agents_run r ON r.root_id = t.id),
    calls AS (
        SELECT c.tool, r.workspace_id, r.agent, r.created_at
        FROM runs r JOIN agents_toolcall c ON c.run_id = r.id WHERE c.status = ANY (%(read)s)
             AND NOT (starts_with(c.tool, %(workflow)s::text) AND EXISTS (
                 SELECT 1 FROM agents_agentversion v WHERE v.id = r.version_id
                 AND v.snapshot -> 'team' @> jsonb_build_array(jsonb_build_object(
                     'name', substr(c.tool, length(%(workflow)s::text) + 1)))))
        UNION ALL
        SELECT %(recall)s, r.workspace_id, r.agent, r.created_at
        FROM runs r
        JOIN agents_runevent e ON e.run_id = r.id AND e.type = 'memories.recalled')
    SELECT ARRAY(SELECT DISTINCT tool FROM calls) AS tools,
           EXISTS (SELECT 1 FROM agents_workfile f WHERE f.call IN (%(given)s, '')
                   AND f.root_id IN (SELECT id FROM tree)) AS given_files,
           EXISTS (SELECT 1 FROM runs r JOIN agents_toolcall c ON c.run_id = r.id
                   WHERE c.result LIKE %(private_host)s
                   ) AS private_host,
           EXISTS (SELECT 1 FROM runs r JOIN agents_agentversion v ON v.id = r.version_id
                   CROSS JOIN LATERAL jsonb_array_elements(v.snapshot -> 'tools') g
                   JOIN tools_cataloguetool k ON k.workspace_id = r.workspace_id
                        AND k.name = g ->> 'name' AND k.server_id IS NOT NULL
                   WHERE r.started_at IS NOT NULL) AS described,
           EXISTS (SELECT 1 FROM runs WHERE started_by LIKE %(channel)s) AS from_channel,
           ARRAY(SELECT DISTINCT started_by FROM runs
                 WHERE started_by LIKE %(trigger)s) AS triggers,
           EXISTS (SELECT 1 FROM runs
                   WHERE started_by LIKE %(trigger)s AND hops > 0) AS changed_row,
           EXISTS (SELECT 1 FROM tree t
                   WHERE NOT EXISTS (SELECT 1 FROM agents_run r WHERE r.id = t.id)) AS is_partial,
           EXISTS (SELECT 1 FROM calls c JOIN memory_memoryitem m ON m.workspace_id = c.workspace_id
                   WHERE c.tool = %(recall)s AND m.from_outsiders AND m.agent IN ('', c.agent)
                         AND (m.forgotten_at IS NULL OR m.forgotten_at > c.created_at))
           OR EXISTS (SELECT 1 FROM runs r JOIN agents_runevent e ON e.run_id = r.id
                      WHERE e.type = 'memories.recalled'
                            AND (e.payload ->> 'from_outsiders')::boolean) AS recalled
"""


class ReadData:
    """Sources of what a tree of runs has read.

    Attributes:
        private: Sources of private data, for people.
        untrusted: Sources of text by outsiders, for people.
    """

    def __init__(self, row: Mapping[str, Any], find: Callable[[str], ToolSpec | None]) -> None:
        names = sorted(set(row["tools"]) - _OWN)
        # A tool that this process does not know may have read anything; so may a deleted run.
        tools = {name: find(name) for name in names}
        labels = {name: _labels_of(spec, row) for name, spec in tools.items()}
        facts = {
            TextSource.DELETED_RUN: row["is_partial"],
            TextSource.PRIVATE_HOST: row["private_host"],
            TextSource.CHANNEL: row["from_channel"],
            TextSource.CHANGED_ROW: row["changed_row"],
            TextSource.MARKED_MEMORIES: row["recalled"],
        }
        labels |= {source.value: labels_of(source) for source, found in facts.items() if found}
        labels |= {name: _labels_of_trigger(name) for name in row["triggers"]}
        self.private = [name for name, found in labels.items() if Label.PRIVATE in found]
        self.untrusted = [name for name, found in labels.items() if Label.UNTRUSTED in found]
        self._described = bool(row["described"])
        self._servers = {name: _server_of(spec) for name, spec in tools.items()}

    def is_mixed(self, server: str = "") -> bool:
        """Return True if a text by outsiders could send private data out.

        Args:
            server: The MCP server that would get the data and that outsiders do not use. What
                came from it alone may go back to it.
        """
        if not self.private:
            return False
        if server and {self._servers.get(name) for name in self.private} == {server}:
            return any(self._servers.get(name) != server for name in self.untrusted)
        return bool(self.untrusted or self._described)

    @property
    def sources(self) -> str:
        """Both kinds of sources, for people; descriptions of tools only if there is no other."""
        outsiders = self.untrusted or [TextSource.DESCRIPTIONS.value]
        return (
            f"private data ({_listed(self.private)}) and text by outsiders ({_listed(outsiders)})"
        )

    @property
    def labels(self) -> frozenset[Label]:
        """Labels of all sources except descriptions of tools.

        A manager has consented to those descriptions. They are in every run of their agents, so
        their labels would mark all memories of these agents.
        """
        sources = {Label.PRIVATE: self.private, Label.UNTRUSTED: self.untrusted}
        return frozenset(label for label, names in sources.items() if names)


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

    async def reason(spec: ToolSpec) -> str | None:
        if Label.OUTBOUND not in spec.labels or setting == MixedData.ALLOW:
            return None
        row = await call(pool, _QUERY, _parameters(root_id))
        read = None if row is None else ReadData(row, find)
        if read is None or not read.is_mixed(_server_of(spec)):
            return None
        return f"{spec.name} sends data out, after {read.sources} were read."

    return reason


def labels_read(root_id: UUID, find: Callable[[str], ToolSpec | None]) -> frozenset[Label]:
    """Return the labels of all that a run tree has read so far, from a tool's thread."""
    [row] = fetch_named(_QUERY, _parameters(root_id))
    return ReadData(row, find).labels


def reason_to_hold(root_id: UUID, find: Callable[[str], ToolSpec | None]) -> str:
    """Return why sending an answer to an outsider needs an approval; empty: it does not."""
    [row] = fetch_named(_QUERY, _parameters(root_id))
    read = ReadData(row, find)
    return f"the run had read {read.sources}" if read.is_mixed() else ""


def _server_of(spec: ToolSpec | None) -> str:
    """Return the MCP server that has the tool; empty: none, or one that outsiders use, too."""
    if spec is None or spec.origin is not Origin.MCP or Label.SHARED in spec.labels:
        return ""
    return spec.source


def _labels_of_trigger(starter: str) -> frozenset[Label]:
    """Return the labels of a trigger's values; one that this process lacks may give anything."""
    trigger = TRIGGERS.get(starter.removeprefix(BY_TRIGGER))
    return UNDECLARED if trigger is None else trigger.labels


def _labels_of(spec: ToolSpec | None, row: Mapping[str, Any]) -> frozenset[Label]:
    if spec is None:
        return UNDECLARED
    if spec.name in FOLDER_READERS and spec.origin is Origin.CODE and not row["given_files"]:
        return frozenset()  # all files are the tree's own: no new source
    return spec.labels


def _parameters(root_id: UUID) -> dict[str, Any]:
    return {
        "root": root_id,
        "read": _READ,
        "channel": f"{BY_CHANNEL}%",
        "schedule": f"{BY_SCHEDULE}%",
        "trigger": f"{BY_TRIGGER}%",
        "unknown": _UNKNOWN,
        "given": GIVEN,
        "recall": TextSource.MEMORIES.value,
        "workflow": delegation.WORKFLOW,
        "private_host": f"%{PRIVATE_HOST}%",
    }


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
