"""Whose runs a budget counts, as a phrase. Pure."""

from __future__ import annotations


def describe_scope(agent: str, person: str, schedule: str) -> str:
    """Return whose runs a budget counts, such as ``agent writer, schedule Monday report``."""
    parts = {"agent": agent, "person": person, "schedule": schedule}
    return ", ".join(f"{kind} {name}" for kind, name in parts.items() if name)
