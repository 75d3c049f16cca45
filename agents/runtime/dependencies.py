"""The world, as a process that executes runs reaches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import httpx

    from agents.live.pubsub import LivePublisher
    from agents.runtime.isolated_runs import IsolatedRunner
    from agents.runtime.models import Models
    from agents.runtime.reservations import Reservations
    from agents.runtime.wakeups import RunWaker
    from tools.registry import Registry


@dataclass(frozen=True, slots=True)
class RuntimeDependencies:
    """What a process works with.

    Attributes:
        reservations: What model calls under way may spend of budgets.
        guarded_http: For every request that a model, a tool or a user can steer.
        run_isolated: Works on a suspect in a process of its own; returns when that has ended.
    """

    registry: Registry
    publisher: LivePublisher
    waker: RunWaker
    models: Models
    reservations: Reservations
    guarded_http: httpx.AsyncClient
    executor: Executor
    run_isolated: IsolatedRunner
