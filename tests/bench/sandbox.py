"""SANDBOX: the time that the sandbox adds to an interpreter, warm."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import time
from typing import TYPE_CHECKING

from tests.bench.figures import Figure, Row
from tests.bench.said import say
from tools.sandbox.choice import find_sandbox
from tools.sandbox.languages import python
from tools.sandbox.program import Program

if TYPE_CHECKING:
    from tests.bench.plan import Plan

ADDED_MS = 15.0
WARM_UP = 3
PAUSE_SECONDS = 0.05  # far less than a model takes between two programs
_CODE = "print(1)"


def measure(plan: Plan) -> Row:
    """Its row: the medians of interleaved programs, so that both feel the same machine."""
    say("SANDBOX: a program in the sandbox, and without one")
    bare, walled = asyncio.run(_pairs(plan.runs + WARM_UP))
    added = statistics.median(walled[WARM_UP:]) - statistics.median(bare[WARM_UP:])
    return Row(
        "SANDBOX",
        "bubblewrap",
        (Figure("added to a bare interpreter, p50", added, "ms", ADDED_MS),),
        {"bare_ms": round(statistics.median(bare[WARM_UP:]), 1)},
    )


async def _pairs(count: int) -> tuple[list[float], list[float]]:
    bare, walled = [], []
    sandbox = await find_sandbox()
    for _ in range(count):
        began = time.perf_counter()
        subprocess.run([python(), "-B", "-s", "-c", _CODE], capture_output=True, check=True, env={})
        bare.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(PAUSE_SECONDS)
        began = time.perf_counter()
        await sandbox.run(Program("python", _CODE))
        walled.append((time.perf_counter() - began) * 1000)
    return bare, walled
