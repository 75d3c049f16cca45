"""One tool of each effect class, whose every execution is written down somewhere.

Importing this module is also what puts the app's hooks into a worker.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from agents.models import BlackboardEntry
from heartbit_site.base.toolspec import Effect, ToolContext, tool

_SECONDS = 30


async def _tell_the_server(context: ToolContext, kind: str, op: str, seconds: float) -> str:
    """Have the effect, then take a while; say when somebody says that it is over."""
    try:
        response = await context.http.post(**_request(context, kind, op))
        response.raise_for_status()
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        _was_told(op)
        raise
    return f"{kind} {op}"


def _request(context: ToolContext, kind: str, op: str) -> dict[str, Any]:
    return {
        "url": f"{os.environ['CHAOS_EFFECTS_URL']}/{kind}",
        "json": {"op": op},
        "headers": {"idempotency-key": context.idempotency_key},
    }


def _was_told(op: str) -> None:
    told = os.environ.get("CHAOS_TOLD")
    if told:
        with Path(told).open("a") as file:
            file.write(json.dumps({"op": op, "at": time.time()}) + "\n")


@tool(effect=Effect.PURE, timeout_seconds=_SECONDS)
async def look_up(context: ToolContext, op: str, seconds: float = 0) -> str:
    """Look something up; the server counts how often."""
    return await _tell_the_server(context, "look_up", op, seconds)


@tool(effect=Effect.IDEMPOTENT, timeout_seconds=_SECONDS)
async def put_item(context: ToolContext, op: str, seconds: float = 0) -> str:
    """Put an item under its key."""
    return await _tell_the_server(context, "put_item", op, seconds)


@tool(effect=Effect.TRANSACTIONAL, timeout_seconds=_SECONDS)
def keep_row(context: ToolContext, op: str, seconds: float = 0) -> str:
    """Insert a row; each execution that commits is a row of its own."""
    BlackboardEntry.objects.create(
        root_id=context.root_id, key=f"{op}#{uuid4().hex}", value=op, author="chaos"
    )
    time.sleep(seconds)
    return f"kept {op}"


@tool(effect=Effect.AT_MOST_ONCE, timeout_seconds=_SECONDS)
async def send_once(context: ToolContext, op: str, seconds: float = 0) -> str:
    """Send something that cannot be taken back."""
    return await _tell_the_server(context, "send_once", op, seconds)


@tool(effect=Effect.IDEMPOTENT, timeout_seconds=_SECONDS)
def put_item_in_thread(context: ToolContext, op: str) -> str:
    """Put an item under its key, from a plain function."""
    httpx.post(**_request(context, "put_item", op)).raise_for_status()
    return f"put_item {op}"


@tool(effect=Effect.AT_MOST_ONCE, timeout_seconds=_SECONDS)
def send_once_in_thread(context: ToolContext, op: str) -> str:
    """Send something that cannot be taken back, from a plain function."""
    httpx.post(**_request(context, "send_once", op)).raise_for_status()
    return f"send_once {op}"


def _install() -> None:
    if directory := os.environ.get("CHAOS_DEATHS"):
        from tests.chaos.crashes import deaths  # noqa: PLC0415  it loads the runtime

        deaths.install(Path(directory))
    if directory := os.environ.get("CHAOS_WITNESS"):
        from tests.chaos.crashes.witness import Witness  # noqa: PLC0415  the same

        Witness(Path(directory)).install()
    if bug := os.environ.get("CHAOS_PLANTED"):
        from tests.chaos.crashes import planted  # noqa: PLC0415  the same

        planted.install(bug)


_install()
