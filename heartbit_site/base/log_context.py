"""Run and trace that the current task works for, which JSON logs name."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

RUN: Final[ContextVar[UUID | None]] = ContextVar("run", default=None)
#: Trace and parent span of what this task starts, in the form of W3C's ``traceparent``; or empty.
TRACEPARENT: Final[ContextVar[str]] = ContextVar("traceparent", default="")


def trace_id() -> str:
    """Return the trace of this task; empty: none."""
    return TRACEPARENT.get()[3:35]
