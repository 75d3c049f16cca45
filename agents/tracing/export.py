"""Export of spans by OpenTelemetry's SDK, which its own OTEL_ variables configure.

Nothing here is imported unless an endpoint is set. The extra ``telemetry`` brings the SDK.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from typing import Final

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from agents.tracing.spans import EndedSpan, Kind

_KINDS: Final[dict[Kind, SpanKind]] = {
    "internal": SpanKind.INTERNAL,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
    "server": SpanKind.SERVER,
}
_SCOPE: Final = InstrumentationScope("heartbit")
_FLUSH_MILLISECONDS: Final = 3_000


@functools.cache
def provider() -> TracerProvider:
    """Return the process's provider, which the SDK of MCP uses as well."""
    resource: dict[str, str] = {SERVICE_VERSION: version("heartbit")}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        resource[SERVICE_NAME] = "heartbit"
    made = TracerProvider(resource=Resource.create(resource))
    made.add_span_processor(processor())
    trace.set_tracer_provider(made)
    # A collector that is down is reported by the exporter for each batch, with a traceback.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    return made


@functools.cache
def processor() -> BatchSpanProcessor:
    """Return the sender of spans in batches."""
    return BatchSpanProcessor(OTLPSpanExporter())


def export(spans: Iterable[EndedSpan]) -> None:
    """Hand spans to the sender, unless the sampler leaves their trace out."""
    found = provider()
    for span in spans:
        trace_id = int(span.trace_id, 16)
        # Asked without a parent: a trace is exported as a whole or not at all.
        if found.sampler.should_sample(None, trace_id, span.name).decision is Decision.DROP:
            continue
        error = {"error.type": span.error} if span.error else {}
        made = ReadableSpan(
            span.name,
            context=_context(trace_id, span.id),
            parent=_context(trace_id, span.parent) if span.parent else None,
            resource=found.resource,
            attributes=span.attributes | error,
            kind=_KINDS[span.kind],
            status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(span.end),
            instrumentation_scope=_SCOPE,
        )
        processor().on_end(made)


@contextmanager
def within(traceparent: str) -> Iterator[None]:
    """Make a span the parent of what libraries trace in the block."""
    provider()
    above = trace.NonRecordingSpan(_context(int(traceparent[3:35], 16), traceparent[36:52]))
    token = context.attach(trace.set_span_in_context(above))
    try:
        yield
    finally:
        context.detach(token)


def flush() -> None:
    """Send what has not been sent, as a process does at its end."""
    if provider.cache_info().currsize:
        provider().force_flush(_FLUSH_MILLISECONDS)


def _context(trace_id: int, span_id: str) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(trace_id, int(span_id, 16), is_remote=False, trace_flags=flags)


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000_000 + at.microsecond * 1_000
