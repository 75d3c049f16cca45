"""Notices to the worker processes: hints to read again what the database says of them."""

from __future__ import annotations

from typing import Literal

from heartbit_site.base.query import execute


def notify_workers(subject: Literal["agent", "worker"], key: int = 0) -> None:
    """Have every process look at once, when the caller's transaction has committed.

    Args:
        subject: An agent, whose runs may be held back or wanted again, or a worker.
        key: Its id; 0: several agents, or tools.
    """
    execute("SELECT pg_notify('heartbit', %s)", [f"{subject}:{key}"])
