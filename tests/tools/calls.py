"""A context and a call, with what most tests do not care about filled in."""

from __future__ import annotations

import uuid
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx

from heartbit_site.base.toolspec import Effect, ToolContext, ToolSpec, spec_of
from tools.calls.pipeline import PendingApprovalCall, PreparedCall, SuspendedCall, execute, prepare
from tools.definitions.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools.calls.pipeline import CallJournal
    from tools.calls.result import ToolResult

EXECUTOR = ThreadPoolExecutor(8)


def context(http: httpx.AsyncClient | None = None) -> ToolContext:
    run = uuid.UUID(int=1)
    client = http or httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(500)))
    return ToolContext(1, run, run, "tester", "1.0", f"{run}:1.0", client)


def made(function: Callable[..., Any], effect: Effect = Effect.PURE, **options: Any) -> ToolSpec:
    options = {"name": None, "description": "A tool.", "timeout_seconds": 5.0, "tags": ()} | options
    return spec_of(function, effect=effect, **options)


async def call(
    tools: ToolSpec | Mapping[str, ToolSpec],
    arguments: str = "{}",
    *,
    name: str | None = None,
    executor: Executor = EXECUTOR,
    http: httpx.AsyncClient | None = None,
    journal: CallJournal | None = None,
    artifacts: dict[str, bytes] | None = None,
    **options: Any,
) -> ToolResult | SuspendedCall | PendingApprovalCall:
    specs = Registry([tools]) if isinstance(tools, ToolSpec) else tools
    prepared = prepare(
        specs,
        name=name or next(iter(specs)),
        arguments=arguments,
        context=replace(context(http), **_store(artifacts)),
        **options,
    )
    if not isinstance(prepared, PreparedCall):
        return prepared
    return await execute(prepared, executor=executor, journal=journal or Journal())


def _store(artifacts: dict[str, bytes] | None) -> dict[str, Any]:
    """The context's access to artifacts; None: nothing is stored."""
    if artifacts is None:
        return {}

    def store(name: str, content: bytes) -> str:
        artifacts[f"1.0-0123abcd-{name}"] = content
        return f"1.0-0123abcd-{name}"

    return {"read_artifact": artifacts.__getitem__, "store_artifact": store}


class Journal:
    """A journal that keeps what it is told in ``told``."""

    def __init__(self) -> None:
        self.told: list[object] = []

    async def intend(self) -> None:
        self.intend_here()

    def intend_here(self) -> None:
        self.told.append("intent")

    def settle_here(self, done: ToolResult | SuspendedCall) -> None:
        self.told.append(done)


def add(a: float, b: float) -> float:
    """A tool of two numbers."""
    return a + b


async def add_on_loop(a: float, b: float) -> float:
    """The same on the loop."""
    return a + b


def nothing() -> None:
    """A tool without arguments."""


class Opaque:
    """No data: nothing that a tool may return."""
