"""Export of spans by OpenTelemetry's SDK, which its own OTEL_ variables configure.

Nothing here is imported unless an endpoint is set. The extra ``telemetry`` brings the SDK.

A slice costs the event loop an entry in the SDK's queue. The thread that sends batches makes the
spans: it reads the journals of a whole batch at once.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from importlib.metadata import version
from typing import Final

from opentelemetry import context, trace
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from agents.tracing.journals import SliceEnd, read_spans
from agents.tracing.spans import EndedSpan, Kind
from heartbit_site.base import orm, tracing

_KINDS: Final[dict[Kind, SpanKind]] = {
    "internal": SpanKind.INTERNAL,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
    "server": SpanKind.SERVER,
}
_SCOPE: Final = InstrumentationScope("heartbit")
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
#: The queue takes spans that are sampled.
_QUEUED: Final = SpanContext(1, 1, is_remote=False, trace_flags=_SAMPLED)
_UNSET, _ERROR = Status(StatusCode.UNSET), Status(StatusCode.ERROR)
_FLUSH_MILLISECONDS: Final = 3_000
_SPANS_AT_ONCE: Final = 512

logger = logging.getLogger(__name__)


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
    """Return the sender of batches."""
    return BatchSpanProcessor(JournalExporter(_otlp_exporter()))


def _otlp_exporter() -> SpanExporter:
    """Return the sender of the protocol; only its library is loaded, for memory."""
    if tracing.uses_grpc():
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter as GrpcExporter,
        )

        return GrpcExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter as HttpExporter,
    )

    return HttpExporter()


class QueuedSlice(ReadableSpan):
    """Entry of the queue that stands for the spans of a slice, which are not read yet."""

    def __init__(self, ended: SliceEnd) -> None:
        self.ended = ended
        super().__init__("slice", context=_QUEUED, resource=provider().resource)


class JournalExporter(SpanExporter):
    """Exporter that reads the spans of slices from their journals.

    Args:
        exporter: Sends spans.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch of spans, and the spans of slices in it."""
        ended = [one.ended for one in spans if isinstance(one, QueuedSlice)]
        found = [one for one in spans if not isinstance(one, QueuedSlice)]
        if ended:
            found += _read(ended)
        results = {
            self._exporter.export(found[first : first + _SPANS_AT_ONCE])
            for first in range(0, len(found), _SPANS_AT_ONCE)
        }
        return max(results, key=lambda one: one.value, default=SpanExportResult.SUCCESS)

    def shutdown(self) -> None:
        """End the exporter."""
        self._exporter.shutdown()


def add(ended: SliceEnd) -> None:
    """Hand a slice to the sender, unless the sampler leaves its trace out."""
    if _is_sampled(ended.run.trace_id, ended.run.agent):
        processor().on_end(QueuedSlice(ended))


def export(span: EndedSpan) -> None:
    """Hand a span to the sender, unless the sampler leaves its trace out."""
    if _is_sampled(span.trace_id, span.name):
        processor().on_end(_readable(span))


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


def _is_sampled(trace_id: str, name: str) -> bool:
    # Asked without a parent: a trace is exported as a whole or not at all.
    decision = provider().sampler.should_sample(None, int(trace_id, 16), name).decision
    return decision is not Decision.DROP


def _read(ended: Sequence[SliceEnd]) -> list[ReadableSpan]:
    work = orm.shared().submit_read(partial(_read_all, ended))
    error = work.exception()
    if error is not None:  # the rest of the batch is sent
        logger.warning("the spans of %d slices are lost: %s", len(ended), error)
        return []
    return work.result()


def _read_all(ended: Sequence[SliceEnd]) -> list[ReadableSpan]:
    return [_readable(span) for span in read_spans(ended)]


def _readable(span: EndedSpan) -> ReadableSpan:
    trace_id = int(span.trace_id, 16)
    error = {"error.type": span.error} if span.error else {}
    return ReadableSpan(
        span.name,
        context=_context(trace_id, span.id),
        parent=_context(trace_id, span.parent) if span.parent else None,
        resource=provider().resource,
        attributes=span.attributes | error,
        kind=_KINDS[span.kind],
        status=_ERROR if span.error else _UNSET,
        start_time=_nanoseconds(span.start),
        end_time=_nanoseconds(span.end),
        instrumentation_scope=_SCOPE,
    )


def _context(trace_id: int, span_id: str) -> SpanContext:
    return SpanContext(trace_id, int(span_id, 16), is_remote=False, trace_flags=_SAMPLED)


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000_000 + at.microsecond * 1_000
