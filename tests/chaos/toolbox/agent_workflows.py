"""Functions of workflows, one of each effect class; the outside world writes down what they do."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any
from uuid import uuid4

from agents.models import BlackboardEntry
from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor

STOPS = 5


@executor(effect="pure")
def plan(trip: dict[str, Any]) -> dict[str, Any]:
    """Return the stops of a trip, and what is stored on the way."""
    name = trip["name"]
    stops = [trip["n"] * 10 + number for number in range(STOPS)]
    return {"stops": stops, "logs": [f"{name}/log/{stop}" for stop in stops]}


@executor(effect="pure")
def number(message: Any, context: Context) -> int:
    """Return a number that depends on the message alone, and add it to the state."""
    found = zlib.crc32(json.dumps(message, sort_keys=True).encode()) % 1_000
    context.add("sum", found)
    context.add("rounds", 1)
    return found


@executor(effect="idempotent", timeout_seconds=30)
async def store(op: str, context: Context) -> str:
    """Store something under its key."""
    await _tell(context, "store", op)
    return f"stored {op}"


@executor(timeout_seconds=30)
async def send(op: str, context: Context) -> str:
    """Send something that cannot be taken back."""
    await _tell(context, "send", op)
    return f"sent {op}"


@executor(effect="transactional", timeout_seconds=30)
def book(op: str, context: Context) -> str:
    """Insert a row; each execution that commits is a row of its own."""
    run, _, _ = context.idempotency_key.partition(":")
    BlackboardEntry.objects.create(
        root_id=run, key=f"{context.idempotency_key}#{uuid4().hex}", value=op, author="chaos"
    )
    return f"booked {op}"


async def _tell(context: Context, kind: str, op: str) -> None:
    response = await context.http.post(
        f"{os.environ['CHAOS_EFFECTS_URL']}/{kind}",
        json={"op": op},
        headers={"idempotency-key": context.idempotency_key},
    )
    response.raise_for_status()
