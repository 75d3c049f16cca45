"""Reads the journals of many runs at once, for their spans. Blocks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from agents.tracing.spans import EndedSpan, JournalEvent, TracedRun, journal_spans
from heartbit_site.base.query import fetch_all, fetch_one

_JOURNALS_AT_ONCE: Final = 100

# Contents stay in the database, except an answer's message, whose calls name their tools.
_EVENTS: Final = """
    SELECT run_id::text, seq, at, type,
           payload - '{task,text,content,output,partial,structured,snapshot,state,question,form,
                       arguments,sends,writes,yields,taken,dropped,buffered,next,value,thread,
                       images,client,client_tools,response_schema}'::text[]
    FROM agents_runevent WHERE run_id = ANY (%s::uuid[]) ORDER BY run_id, seq
"""
_RUNS: Final = """
    SELECT id::text, parent_id IS NOT NULL, kind, agent, queue, workspace_id,
           conversation_id::text, root_id, last_seq
    FROM agents_run WHERE id = ANY (%s)
"""
# From a fork's root to the root of its source, and on.
_ORIGIN: Final = """
    WITH RECURSIVE origin AS (
        SELECT r.id, r.forked_from_id, 0 AS forks FROM agents_run r WHERE r.id = %s
        UNION ALL
        SELECT r.id, r.forked_from_id, o.forks + 1
        FROM origin o JOIN agents_run f ON f.id = o.forked_from_id
        JOIN agents_run r ON r.id = f.root_id
    )
    SELECT o.id, coalesce(e.payload ->> 'traceparent', '')
    FROM origin o LEFT JOIN agents_runevent e ON e.run_id = o.id AND e.seq = 1
    ORDER BY o.forks DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class SliceEnd:
    """The end of a slice, or of a run that no slice has ended.

    Attributes:
        started_seq: Sequence number of the event that began the slice; 0: no slice.
        last_seq: Sequence number of the last event that belongs to it.
    """

    run: TracedRun
    started_seq: int
    last_seq: int


def find_origin(root_id: UUID) -> tuple[str, str]:
    """Return the trace of a run tree, and the span that is above its root; empty: none."""
    row = fetch_one(_ORIGIN, [root_id], prepare=True)
    return (root_id.hex, "") if row is None else above(*row)


def above(root_id: UUID, traceparent: str) -> tuple[str, str]:
    """Return the trace and the span above the root, of the ``traceparent`` that it was given."""
    return traceparent[3:35] or root_id.hex, traceparent[36:52]


def find_ended(run_ids: Sequence[UUID]) -> list[SliceEnd]:
    """Return the ends of runs that no slice has ended."""
    found = []
    for *columns, root_id, last_seq in fetch_all(_RUNS, [list(run_ids)]):
        found.append(SliceEnd(TracedRun(*find_origin(root_id), *columns), 0, last_seq))
    return found


def read_spans(ended: Sequence[SliceEnd]) -> Iterator[EndedSpan]:
    """Yield the spans that have ended."""
    for first in range(0, len(ended), _JOURNALS_AT_ONCE):
        some = ended[first : first + _JOURNALS_AT_ONCE]
        journals = _read_journals({one.run.id for one in some})
        for one in some:
            yield from journal_spans(
                one.run, journals[one.run.id], started_seq=one.started_seq, last_seq=one.last_seq
            )


def _read_journals(run_ids: Iterable[str]) -> dict[str, list[JournalEvent]]:
    journals: defaultdict[str, list[JournalEvent]] = defaultdict(list)
    for run, seq, at, kind, payload in fetch_all(_EVENTS, [list(run_ids)], prepare=True):
        journals[run].append(JournalEvent(seq, at, kind, json.loads(payload)))
    return journals
