"""Tools that act in the transaction of the caller."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from tools.calls import pipeline
from tools.calls.pipeline import PreparedCall, SuspendedCall
from tools.calls.result import ToolResult


def execute_transactional(
    prepared: PreparedCall, *, around: Callable[[], AbstractContextManager[object]]
) -> ToolResult:
    """Run a transactional call in the caller's transaction.

    Args:
        prepared: Prepared call.
        around: Savepoint that rolls back a failed tool; its result is still returned.
    """
    done = pipeline.execute_here(prepared, around=around)
    if isinstance(done, SuspendedCall):
        return ToolResult(f"{prepared.spec.name} is transactional and cannot wait.", "error")
    return done
