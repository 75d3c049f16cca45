"""The open circuits of provider accounts, for people to see and to close."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import redis

from agents.runtime.circuit_scripts import breaker_key

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class OpenCircuit:
    """A circuit that is open, for people to see.

    Attributes:
        openings: How often it opened since a call last succeeded.
        seconds_left: Until one call tries; 0: it may, or does already.
    """

    openings: int
    seconds_left: float


def open_circuits(url: str, accounts: Sequence[str]) -> dict[str, OpenCircuit]:
    """Those of the accounts whose circuits are open; blocks, and is for the admin.

    Raises:
        RedisError: Valkey is away.
    """
    if not accounts:
        return {}
    with _client(url) as client:
        pipeline = client.pipeline(transaction=False)
        pipeline.time()
        for account in accounts:
            pipeline.hmget(breaker_key(account), "openings", "until")
        (seconds, micros), *rows = pipeline.execute()
    now = seconds + micros / 1_000_000
    return {
        account: OpenCircuit(int(openings), max(0.0, float(until) - now))
        for account, (openings, until) in zip(accounts, rows, strict=True)
        if openings is not None
    }


def close_circuit(url: str, account: str) -> None:
    """Let calls go again, whatever was seen before; blocks, and is for the admin.

    Raises:
        RedisError: Valkey is away.
    """
    with _client(url) as client:
        client.delete(breaker_key(account))


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, decode_responses=True, socket_timeout=1.0, socket_connect_timeout=1.0
    )
