"""Ids of traces and spans, in the form of W3C's ``traceparent``.

A span's id follows from its run and its place in the journal. So each process computes it: for a
call that has not ended, for a run's child, and for a slice that resumes the run on another machine.
The trace is that of the request that started the run tree, or else has the id of the tree's root.
"""

from __future__ import annotations

import functools
import re
from hashlib import blake2b
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from heartbit_site.base import variables

_TRACEPARENT: Final = re.compile(
    r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f][13579bdf]"
)
_ID_BYTES: Final = 8
#: Of collectors, for OTLP over gRPC; that over HTTP is 4318.
GRPC_PORT: Final = 4317
#: Names of spans of a run: the run itself, and the wait of its parent for it.
RUN: Final = "run"
AWAITED: Final = "awaited"


def call(call_id: str, attempt: int = 1) -> str:
    """Return the name of the span of a call."""
    return f"call:{call_id}:{attempt}"


def span_id(run_id: UUID | str, name: str) -> str:
    """Return the id of a span of a run, by its name among the run's spans."""
    return blake2b(f"{run_id}:{name}".encode(), digest_size=_ID_BYTES).hexdigest()


def format_traceparent(trace_id: str, span: str) -> str:
    """Return the ``traceparent`` of what a span starts."""
    return f"00-{trace_id}-{span}-01"


def parse_traceparent(text: str) -> str:
    """Return a ``traceparent`` that was sent, if it is valid and sampled, else an empty string."""
    return text if _TRACEPARENT.fullmatch(text) else ""


def of_run(run_id: UUID | str, trace_id: str) -> str:
    """Return the ``traceparent`` of what a run starts."""
    return format_traceparent(trace_id, span_id(run_id, RUN))


def endpoint() -> str:
    """Return the address that spans are exported to; empty: none."""
    return variables.OTEL_TRACES_ENDPOINT.read() or variables.OTEL_ENDPOINT.read()


def uses_grpc() -> bool:
    """Return True if spans are exported over gRPC: it is asked for, or its port is."""
    protocol = variables.OTEL_PROTOCOL.read()
    return protocol == "grpc" or (not protocol and urlsplit(endpoint()).port == GRPC_PORT)


@functools.cache
def is_on() -> bool:
    """Return True if spans are exported: the environment names an OTLP endpoint."""
    if variables.OTEL_DISABLED.read():
        return False
    return bool(endpoint())
