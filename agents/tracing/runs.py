"""Export of the spans of runs, in threads of the process, after their slices."""

from __future__ import annotations

import functools
import importlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from typing import Any, Final
from uuid import UUID

from agents.tracing.spans import EndedSpan, JournalEvent, TracedRun, journal_spans
from heartbit_site.base import orm, tracing
from heartbit_site.base.log_context import TRACEPARENT
from heartbit_site.base.query import fetch_all, fetch_one

_FLUSH_SECONDS: Final = 3.0
_pending: set[Future[None]] = set()
Times = tuple[datetime, datetime]
logger = logging.getLogger(__name__)

# Contents stay in the database, except an answer's message, whose calls name their tools.
_EVENTS: Final = """
    SELECT seq, at, type,
           payload - '{task,text,content,output,partial,structured,snapshot,state,question,form,
                       arguments,sends,writes,yields,taken,dropped,buffered,next,value,thread,
                       images,client,client_tools,response_schema}'::text[]
    FROM agents_runevent WHERE run_id = %s AND seq <= %s ORDER BY seq
"""
_RUN: Final = """
    SELECT id::text, parent_id IS NOT NULL, kind, agent, queue, workspace_id,
           conversation_id::text, root_id, last_seq
    FROM agents_run WHERE id = %s
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


@functools.cache
def is_on() -> bool:
    """Return True if spans are exported; log it if the extra is missing."""
    if not tracing.is_on():
        return False
    if find_spec("opentelemetry.sdk") is None:
        logger.warning(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but no trace is exported: install "
            "heartbit[telemetry]."
        )
        return False
    return True


@functools.lru_cache(maxsize=1_000)
def origin_of(root_id: UUID) -> tuple[str, str]:
    """Return the trace of a run tree, and the span that is above its root; empty: none. Blocks."""
    row = fetch_one(_ORIGIN, [root_id], prepare=True)
    if row is None:
        return root_id.hex, ""
    origin, given = row
    return given[3:35] or origin.hex, given[36:52]


@contextmanager
def within(traceparent: str) -> Iterator[None]:
    """Make a span the parent of what libraries trace, and of the runs that start, in the block."""
    token = TRACEPARENT.set(traceparent)
    try:
        if is_on():
            with _sdk().within(traceparent):
                yield
        else:
            yield
    finally:
        TRACEPARENT.reset(token)


def export_request(
    traceparent: str, parent: str, *, named: tuple[str, dict[str, Any], str], times: Times
) -> None:
    """Export the span of a request that was served.

    Args:
        traceparent: Trace and id of the span.
        parent: The ``traceparent`` that the client sent; empty: none.
        named: Name, attributes and error type.
        times: Start and end.
    """
    name, attributes, error = named
    trace_id, span, above = traceparent[3:35], traceparent[36:52], parent[36:52]
    _sdk().export([EndedSpan(trace_id, span, above, name, "server", *times, attributes, error)])


def flush() -> None:
    """Send what has not been sent, as a process does at its end. Blocks, but not long."""
    if is_on():
        wait(_pending.copy(), timeout=_FLUSH_SECONDS)
        _sdk().flush()


def after_slice(run: TracedRun, *, started_seq: int, last_seq: int) -> None:
    """Export what ended in a slice, in another thread; see ``journal_spans``."""
    if is_on():
        _submit(partial(_export, run, started_seq, last_seq))


def after_cancel(run_ids: Iterable[UUID]) -> None:
    """Export the ends of runs that no slice has ended, in another thread."""
    for run_id in run_ids:
        _submit(partial(_export_end, run_id))


def _submit(export: Callable[[], None]) -> None:
    work = orm.shared().submit_read(export)
    _pending.add(work)
    work.add_done_callback(_report)


def _report(work: Future[None]) -> None:
    _pending.discard(work)
    if not work.cancelled() and (error := work.exception()) is not None:
        logger.warning("the spans of a slice are lost: %s", error)


def _export_end(run_id: UUID) -> None:
    row = fetch_one(_RUN, [run_id])
    if row is not None:
        *columns, root_id, last_seq = row
        trace_id, above = origin_of(root_id)
        _export(TracedRun(trace_id, above, *columns), 0, last_seq)


def _export(run: TracedRun, started_seq: int, last_seq: int) -> None:
    events = [
        JournalEvent(seq, at, kind, json.loads(payload))
        for seq, at, kind, payload in fetch_all(_EVENTS, [run.id, last_seq], prepare=True)
    ]
    _sdk().export(journal_spans(run, events, started_seq=started_seq, last_seq=last_seq))


def _sdk() -> Any:
    """Return the module that imports the SDK, which nothing does while traces are off."""
    return importlib.import_module("agents.tracing.export")
