"""What can be measured, by name; importable before Django is ready."""

from __future__ import annotations

from tests.bench.workloads import WORKLOADS

NAMES = (
    *WORKLOADS,
    "W7",
    "W8",
    "INFLIGHT",
    "WAITING",
    "RATE",
    "LONG",
    "GRAPHS",
    "GROWTH",
    "TOKENS",
    "WAITERS",
    "MCP",
    "CATALOGUE",
    "BROWSER",
    "HEALTH",
    "COMMANDS",
    "SANDBOX",
    "CODE",
    "RECALL",
    "KNOWLEDGE",
    "TELEMETRY",
    "UP",
    "LARGE",  # the last: its rows stay
)
