"""Export of the spans of runs, after their slices."""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from typing import Any, Final
from uuid import UUID

from agents.tracing.journals import SliceEnd, above, find_ended, find_origin
from agents.tracing.spans import EndedSpan, TracedRun
from heartbit_site.base import orm, tracing
from heartbit_site.base.log_context import TRACEPARENT

_MOST_ORIGINS: Final = 10_000
_origins: dict[UUID, tuple[str, str]] = {}
Times = tuple[datetime, datetime]
logger = logging.getLogger(__name__)


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


async def origin_of(root_id: UUID, journal: Sequence[dict[str, Any]] = ()) -> tuple[str, str]:
    """Return the trace of a run tree, and the span that is above its root; empty: none.

    Args:
        root_id: Root of the tree.
        journal: The root's journal, oldest event first, if it is known: it saves a query.
    """
    if not is_on():
        return root_id.hex, ""
    if root_id in _origins:
        return _origins[root_id]
    found = _own_origin(root_id, journal)
    if found is None:
        found = await orm.read_in_thread(partial(find_origin, root_id))
    while len(_origins) >= _MOST_ORIGINS:
        del _origins[next(iter(_origins))]
    _origins[root_id] = found
    return found


def _own_origin(root_id: UUID, journal: Sequence[dict[str, Any]]) -> tuple[str, str] | None:
    """Return the origin that a whole journal tells; a fork is in the trace of its source."""
    if not journal or journal[0]["seq"] != 1:
        return None
    if any(row["type"] == "run.forked" for row in journal):
        return None
    return above(root_id, journal[0]["payload"].get("traceparent", ""))


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
    trace_id, span, parent_span = traceparent[3:35], traceparent[36:52], parent[36:52]
    _sdk().export(EndedSpan(trace_id, span, parent_span, name, "server", *times, attributes, error))


def flush() -> None:
    """Send what has not been sent, as a process does at its end. Blocks, but not long."""
    if is_on():
        _sdk().flush()


def after_slice(run: TracedRun, *, started_seq: int, last_seq: int) -> None:
    """Export what ended in a slice, later and in another thread; see ``journal_spans``."""
    if is_on():
        _sdk().add(SliceEnd(run, started_seq, last_seq))


def after_end(run_ids: Sequence[UUID]) -> None:
    """Export the ends of runs that no slice has ended. Blocks."""
    if is_on() and run_ids:
        for ended in find_ended(run_ids):
            _sdk().add(ended)


def _sdk() -> Any:
    """Return the module that imports the SDK, which nothing does while traces are off."""
    return importlib.import_module("agents.tracing.export")
