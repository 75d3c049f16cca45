"""One bench session: the measurements by name, in our order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench import (
    browser,
    code_mode,
    commands,
    costs,
    graphs,
    growth,
    health,
    inflight,
    killed,
    knowledge,
    large,
    latency,
    long,
    mcp,
    rate,
    recall,
    sandbox,
    storm,
    telemetry,
    tokens,
    up,
    waiters,
    waiting,
)
from tests.bench.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.bench.figures import Row
    from tests.bench.plan import Plan

_LOADS: dict[str, Callable[[Plan], Iterable[Row]]] = {
    "W7": lambda plan: [storm.measure(plan)],
    "W8": killed.measure,
    "INFLIGHT": lambda plan: [inflight.measure(plan)],
    "WAITING": lambda plan: [waiting.measure(plan)],
    "RATE": rate.measure,
    "LONG": lambda plan: [long.measure(plan)],
    "GRAPHS": graphs.measure,
    "GROWTH": lambda plan: [growth.measure(plan)],
    "TOKENS": tokens.measure,
    "WAITERS": waiters.measure,
    "MCP": lambda plan: [mcp.call(plan)],
    "CATALOGUE": lambda plan: [mcp.catalogue(plan)],
    "BROWSER": lambda _: [browser.measure()],
    "HEALTH": lambda plan: [health.measure(plan)],
    "COMMANDS": lambda plan: [commands.measure(plan)],
    "SANDBOX": lambda plan: [sandbox.measure(plan)],
    "CODE": code_mode.measure,
    "RECALL": recall.measure,
    "KNOWLEDGE": knowledge.measure,
    "TELEMETRY": telemetry.measure,
    "UP": lambda plan: [up.measure(plan)],
    "LARGE": lambda plan: [large.measure(plan)],
}


def names() -> set[str]:
    """What can be measured."""
    return {*WORKLOADS, *_LOADS}


def measure(wanted: Sequence[str], plan: Plan) -> Iterator[Row]:
    """Each row of these measurements, in our order whatever theirs.

    Raises:
        RuntimeError: The database does not keep what it commits.
    """
    for name, value in costs.durability().items():
        if value != "on":
            raise RuntimeError(f"{name} is {value}: such figures would mean nothing")
    single = [name for name in WORKLOADS if name in wanted]
    if single:
        yield from latency.measure(single, plan)
    for name, load in _LOADS.items():
        if name in wanted:
            yield from load(plan)
