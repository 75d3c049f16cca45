"""Keys of a workflow's state, each with the merge of its writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.workflows.spec.graph import StateKeySpec


def last(initial: Any = None) -> StateKeySpec:
    """Return a key that has the last value set; one node may set it in a superstep."""
    return StateKeySpec(merge="set", initial=initial)


def add(initial: float = 0) -> StateKeySpec:
    """Return a key that is the sum of its writes."""
    return StateKeySpec(merge="add", initial=initial)


def append(initial: list[Any] | None = None) -> StateKeySpec:
    """Return a key that is the list of its writes."""
    return StateKeySpec(merge="append", initial=initial or [])


def merge(initial: Mapping[str, Any] | None = None) -> StateKeySpec:
    """Return a key that is an object, into which its writes are merged key by key."""
    return StateKeySpec(merge="merge", initial=dict(initial or {}))


def minimum(initial: float | None = None) -> StateKeySpec:
    """Return a key that is the least of its writes."""
    return StateKeySpec(merge="min", initial=initial)


def maximum(initial: float | None = None) -> StateKeySpec:
    """Return a key that is the greatest of its writes."""
    return StateKeySpec(merge="max", initial=initial)
