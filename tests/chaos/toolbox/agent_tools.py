"""A tool that repeats safely, and one that kills its worker."""

from __future__ import annotations

import os

from heartbit_site.base.toolspec import Effect, ToolContext, tool


@tool(effect=Effect.PURE)
def abort_process() -> str:
    """Take the whole process along, as a broken extension module does."""
    os.abort()


@tool(effect=Effect.IDEMPOTENT, timeout_seconds=20)
async def store_item(context: ToolContext, op: str, pad: str = "") -> str:
    """Store an item under its name at the effects server; the padding is only read."""
    response = await context.http.put(
        f"{os.environ['CHAOS_EFFECTS_URL']}/store_item",
        json={"op": op, "pad": pad},
        headers={"idempotency-key": context.idempotency_key},
    )
    response.raise_for_status()
    return f"stored {op}"
