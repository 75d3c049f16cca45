"""Stub."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from agents.workflows.calls import CallInput
from heartbit_site.base.toolspec import Effect, ToolContext


class Executor(Protocol):
    is_async: bool
    effect: Effect
    timeout_seconds: float

    def call(self, given: CallInput, context: ToolContext) -> Any: ...


def find_executors(names: Iterable[str]) -> dict[str, Executor]:
    return {}
