"""Hosts that build, start and stop a process's runtime from the settings.

There are two: that of a fleet worker, woken by Celery, and a local one (``heartbit run``), which
needs no broker. Build them on the process's loop.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from agents.choices import Placement
from agents.live.pubsub import InMemoryLiveStream, LivePublisher
from agents.live.valkey import ValkeyPublisher, connect
from agents.llm import defaults
from agents.llm.client import create_client
from agents.llm.wrappers.breaker import Breaker, LocalBreaker
from agents.llm.wrappers.limit import Limiter, LocalLimiter
from agents.runs.lease import Child
from agents.runtime.execution.dependencies import RuntimeDependencies
from agents.runtime.execution.executor_config import ExecutorConfig
from agents.runtime.execution.readiness import check_readiness
from agents.runtime.execution.run_executor import RunExecutor
from agents.runtime.execution.wakeups import FleetRunWaker, LocalRunWaker, RunWaker
from agents.runtime.providers.breaker import ValkeyBreaker
from agents.runtime.providers.limiter import ValkeyLimiter
from agents.runtime.providers.models import Models
from agents.runtime.providers.reservations import (
    LocalReservations,
    Reservations,
    ValkeyReservations,
)
from agents.runtime.recovery.isolated_runs import IsolatedRunner
from agents.runtime.recovery.loop_watchdog import LoopWatchdog
from agents.runtime.recovery.sandbox_watch import SandboxWatch
from agents.runtime.recovery.sweeper import Sweeper, SweeperConfig
from agents.tracing import runs as traces
from heartbit_site.base import orm, variables
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient, guarded_model_client
from heartbit_site.base.orm import OrmExecutor
from tools.definitions.registry import registry
from tools.mcp.pool import McpPool
from tools.scripts.interpreter import ScriptInterpreter

TOOL_THREADS = 16


def has_explicit_model(environ: Mapping[str, str]) -> bool:
    """Return True if the environment sets a model; a key alone does not count."""
    return bool(variables.PROVIDER.read(environ) or variables.MODEL.read(environ))


class Host(ABC):
    """A process that executes runs, with its sweeper and clients."""

    def __init__(
        self,
        home: Placement,
        publisher: LivePublisher,
        waker: RunWaker,
        *,
        limiter: Limiter,
        breaker: Breaker,
        reservations: Reservations,
        queues: tuple[str, ...],
        slots: int,
        ring: Callable[[UUID, str], None] | None = None,
    ) -> None:
        local_url: Callable[[], str] = import_string(settings.HEARTBIT_LOCAL_MODEL_URL)
        self._providers = create_client()
        allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
        self._guarded = GuardedClient(allow=allow)
        self._typed = guarded_model_client(allow=allow)
        self._mcp = McpPool(allow=allow)
        self._interpreter = ScriptInterpreter()
        default_model = defaults.default_model(os.environ)
        self.models = Models(
            self._providers,
            self._typed,
            local_url=local_url,
            limiter=limiter,
            breaker=breaker if settings.HEARTBIT_BREAKER_FAILURES else None,
        )
        dependencies = RuntimeDependencies(
            registry=registry,
            publisher=publisher,
            waker=waker,
            models=self.models,
            reservations=reservations,
            guarded_http=self._guarded,
            mcp=self._mcp,
            executor=OrmExecutor(TOOL_THREADS, name="tool"),
            run_isolated=IsolatedRunner(),
            interpreter=self._interpreter,
        )
        configuration = ExecutorConfig(
            # Its statements are prepared, which a transaction pooler may lose.
            database_url=settings.DATABASE_DIRECT_URL,
            direct_url=settings.DATABASE_DIRECT_URL,
            home=home,
            queues=queues,
            slots=slots,
            lease_seconds=settings.HEARTBIT_LEASE_SECONDS,
            default_model=default_model,
            explicit_model=default_model if has_explicit_model(os.environ) else "",
            drain_seconds=settings.HEARTBIT_DRAIN_SECONDS,
        )
        self.process = RunExecutor(configuration, dependencies)
        self._sweeper = Sweeper(
            SweeperConfig(
                conninfo=settings.DATABASE_DIRECT_URL,
                every_seconds=settings.HEARTBIT_SWEEP_SECONDS,
                max_attempts=settings.HEARTBIT_MAX_CRASHES,
                queues=queues,
                own_worker_id=lambda: self.process.control.worker_id,
                heartbeat_is_stable=self.process.control.heartbeat_is_stable,
                free_slots=self._free_slots,
                wake=ring,
                home=home,
                escalated=waker.escalated,
            )
        )

    async def start(self) -> None:
        """Register the process and start the sweeper."""
        await self.process.start()
        self._sweeper.start()

    async def stop(self) -> None:
        """Release all runs and close everything in reverse order."""
        await asyncio.to_thread(self._sweeper.stop)
        await self.process.stop()
        await orm.run_in_thread(traces.flush)
        await self._mcp.aclose()
        await self._interpreter.aclose()
        await self._providers.aclose()
        await self._guarded.aclose()
        await self._typed.aclose()

    @abstractmethod
    def _free_slots(self) -> int:
        """Return the number of fleet runs that the process could start now."""


class FleetHost(Host):
    """Host of a Celery worker process: woken by the broker, with live output in Valkey."""

    def __init__(self, *, queues: tuple[str, ...], slots: int) -> None:
        self._slots = slots
        self._valkey = connect(settings.REDIS_URL)
        self._publisher = ValkeyPublisher(self._valkey)
        self._waker = FleetRunWaker()
        super().__init__(
            Placement.FLEET,
            self._publisher,
            self._waker,
            limiter=ValkeyLimiter(self._valkey),
            breaker=ValkeyBreaker(self._valkey, failures=settings.HEARTBIT_BREAKER_FAILURES),
            reservations=ValkeyReservations(self._valkey),
            queues=queues,
            slots=slots,
            ring=self._wake,
        )
        self._sandbox = SandboxWatch(self.process.control)
        self._watchdog = LoopWatchdog(settings.HEARTBIT_LOOP_SILENCE_SECONDS, self.process.spare)

    async def start(self) -> None:
        """Start the host, the sandbox watch and the loop watchdog."""
        self._watchdog.start()
        await super().start()
        self._sandbox.start()

    async def stop(self) -> None:
        """Stop the host, and write the remaining live output."""
        await self._sandbox.stop()
        await super().stop()
        self._waker.close()
        await self._publisher.flush()
        await self._valkey.aclose()
        await self._watchdog.stop()

    async def check_readiness(self) -> dict[str, str]:
        """Return the state of everything needed to claim a run, by name."""
        return await check_readiness(self.process, self._valkey)

    def _free_slots(self) -> int:
        return self._slots - self.process.in_flight

    def _wake(self, run_id: UUID, queue: str) -> None:
        self._waker.wake(Child(run_id, queue))


class LocalHost(Host):
    """Host of a stand-alone process: same engine, same journal, no broker.

    Attributes:
        window: Live output of the process; readers follow it directly.
    """

    def __init__(self, *, slots: int) -> None:
        self.window = InMemoryLiveStream()
        self._waker = LocalRunWaker(slots=slots)
        super().__init__(
            Placement.LOCAL,
            self.window,
            self._waker,
            limiter=LocalLimiter(),
            breaker=LocalBreaker(failures=settings.HEARTBIT_BREAKER_FAILURES),
            reservations=LocalReservations(),
            queues=(),
            slots=slots,
        )
        self._waker.connect(self.process.execute)

    def execute(self, run_id: UUID) -> None:
        """Start a local run in this process, which then also wakes the runs of its tree."""
        self.process.adopt(run_id)
        self._waker.wake(Child(run_id, ""))

    def _free_slots(self) -> int:
        return 0  # a local host claims no fleet runs
