"""Readiness of a worker process to claim runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

import psycopg
from redis.asyncio import Redis
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from agents.runtime.execution.run_executor import RunExecutor

#: Timeout of the database and of the broker, each.
ANSWER_SECONDS: Final = 2.0
OK: Final = "ok"


async def check_readiness(process: RunExecutor, broker: Redis) -> dict[str, str]:
    """Return the state of everything needed to claim a run, `ok` or a reason, by name."""
    database, valkey = await asyncio.gather(_answer(process.ping()), _answer(broker.ping()))
    return {
        "registration": OK if process.control.is_proven else "missing",
        "database": database,
        "broker": valkey,
        "shutdown": "draining" if process.is_draining else OK,
    }


async def _answer(asked: Awaitable[Any]) -> str:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await asked
    except (TimeoutError, OSError, psycopg.Error, RedisError):
        return "unreachable"
    return OK
