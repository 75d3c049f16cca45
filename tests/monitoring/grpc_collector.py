"""A collector of OpenTelemetry for tests that takes OTLP over gRPC."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import grpc  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as messages
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service

from tests.monitoring.collector import Collector


class GrpcCollector(Collector, service.TraceServiceServicer):
    """A server at ``url``, while its `with` block runs."""

    def __enter__(self) -> Self:
        self._grpc = grpc.server(ThreadPoolExecutor(2))
        service.add_TraceServiceServicer_to_server(self, self._grpc)  # type: ignore[no-untyped-call]
        port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()
        self.url = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._grpc.stop(grace=None).wait()

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a process that exports to it, soon."""
        return super().environment | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}

    def Export(self, request: Any, context: Any) -> Any:
        self.take(request.SerializeToString())
        return messages.ExportTraceServiceResponse()
