"""Dependencies of a run executor: registry, model and HTTP clients, live output, wake-ups."""

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
    """Dependencies of a run executor.

    Attributes:
        reservations: Reservations of budgets by model calls in flight.
        guarded: HTTP client for requests that a model, a tool or a user can steer.
        run_alone: Runs a slice of a suspect run in a process of its own, and returns after its end.
    """

    registry: Registry
    window: LivePublisher
    doorbell: RunWaker
    models: Models
    reservations: Reservations
    guarded: httpx.AsyncClient
    executor: Executor
    run_alone: IsolatedRunner
