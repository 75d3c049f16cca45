"""Notifications to worker processes: hints to read changed rows again."""

from __future__ import annotations

from typing import Literal

from heartbit_site.base.query import execute


def notify_workers(subject: Literal["agent", "worker"], key: int = 0) -> None:
    """Notify every process once the caller's transaction has committed.

    Args:
        subject: An agent, whose runs may be paused or resumed, or a worker.
        key: Id of the subject; 0: several agents, or tools.
    """
    execute("SELECT pg_notify('heartbit', %s)", [f"{subject}:{key}"])
