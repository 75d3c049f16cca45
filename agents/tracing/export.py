"""Export of spans by OpenTelemetry's SDK, which its own OTEL_ variables configure.

Nothing here is imported unless an endpoint is set. The extra ``telemetry`` brings the SDK.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from typing import Final

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from agents.tracing.spans import EndedSpan, Kind

_KINDS: Final[dict[Kind, SpanKind]] = {
    "internal": SpanKind.INTERNAL,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
    "server": SpanKind.SERVER,
}
_FLUSH_MILLISECONDS: Final = 3_000


class _Ids(RandomIdGenerator):
    """Generator that returns the ids that a thread has set, else random ones."""

    def __init__(self) -> None:
        self.next = threading.local()

    def generate_span_id(self) -> int:
        """Return the id of the span that is started now."""
        found: int = getattr(self.next, "span", 0)
        return found or super().generate_span_id()

    def generate_trace_id(self) -> int:
        """Return the id of the trace that is started now."""
        found: int = getattr(self.next, "trace", 0)
        return found or super().generate_trace_id()


_ids = _Ids()


@functools.cache
def provider() -> TracerProvider:
    """Return the process's provider, which the SDK of MCP uses as well."""
    resource: dict[str, str] = {SERVICE_VERSION: version("heartbit")}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        resource[SERVICE_NAME] = "heartbit"
    made = TracerProvider(id_generator=_ids, resource=Resource.create(resource))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(made)
    # A collector that is down is reported by the exporter for each batch, with a traceback.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    return made


def export(spans: Iterable[EndedSpan]) -> None:
    """Hand spans to the SDK, which samples them and sends them in batches."""
    tracer = provider().get_tracer("heartbit")
    for span in spans:
        _ids.next.span, _ids.next.trace = int(span.id, 16), int(span.trace_id, 16)
        try:
            made = tracer.start_span(
                span.name,
                context=_within(span.trace_id, span.parent),
                kind=_KINDS[span.kind],
                attributes=span.attributes,
                start_time=_nanoseconds(span.start),
            )
        finally:
            _ids.next.span = _ids.next.trace = 0
        if span.error:
            made.set_attribute("error.type", span.error)
            made.set_status(Status(StatusCode.ERROR))
        made.end(_nanoseconds(span.end))


@contextmanager
def within(traceparent: str) -> Iterator[None]:
    """Make a span the parent of what libraries trace in the block."""
    provider()
    token = context.attach(_within(traceparent[3:35], traceparent[36:52]))
    try:
        yield
    finally:
        context.detach(token)


def flush() -> None:
    """Send what has not been sent, as a process does at its end."""
    if provider.cache_info().currsize:
        provider().force_flush(_FLUSH_MILLISECONDS)


def _within(trace_id: str, parent: str) -> context.Context:
    if not parent:
        return context.Context()
    flags = TraceFlags(TraceFlags.SAMPLED)
    there = SpanContext(int(trace_id, 16), int(parent, 16), is_remote=True, trace_flags=flags)
    return trace.set_span_in_context(trace.NonRecordingSpan(there), context.Context())


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000_000 + at.microsecond * 1_000
