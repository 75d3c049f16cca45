"""Tools that never let go of the loop that they are called on."""

from __future__ import annotations

import asyncio
import re
import time

from heartbit_site.base.toolspec import Effect, tool


@tool(effect=Effect.PURE)
async def compute_for_ever() -> str:
    """Compute, in a task of its own as libraries start them."""
    await asyncio.gather(_compute())
    return "never"


async def _compute() -> None:
    while True:
        pass


@tool(effect=Effect.PURE)
async def block_for_ever() -> str:
    """Block without computing."""
    time.sleep(3_600)
    return "never"


@tool(effect=Effect.PURE)
async def keep_the_lock() -> str:
    """Compute in C, with the interpreter's lock."""
    return str(re.match(r"(a+)+$", "a" * 64 + "b"))
