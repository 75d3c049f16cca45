"""Open circuit breakers of provider accounts, for the admin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import redis

from agents.runtime.providers.circuit_scripts import breaker_key


@dataclass(frozen=True, slots=True)
class OpenCircuit:
    """An open circuit.

    Attributes:
        openings: Number of openings since the last successful call.
        seconds_left: Seconds until the next probe; 0: a probe is due or in flight.
    """

    openings: int
    seconds_left: float


def open_circuits(url: str, accounts: Sequence[str]) -> dict[str, OpenCircuit]:
    """Return the open circuits among those of the accounts. Blocks.

    Raises:
        RedisError: Valkey is down.
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
    """Close an account's circuit and delete its failures. Blocks.

    Raises:
        RedisError: Valkey is down.
    """
    with _client(url) as client:
        client.delete(breaker_key(account))


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, decode_responses=True, socket_timeout=1.0, socket_connect_timeout=1.0
    )
