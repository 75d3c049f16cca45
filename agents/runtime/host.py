"""Builds this process's runtime from the settings, and starts and stops all of it together.

Two hosts: a fleet worker's (Celery rings it) and a local one (``heartbit run``; no broker).
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.module_loading import import_string

from agents import dispatch
from agents.choices import Home
from agents.live.local import LocalWindow
from agents.live.valkey import ValkeyWindow, connect
from agents.llm import factory
from agents.llm.client import create_client
from agents.runs.lease import Child
from agents.runtime.doorbell import Doorbell, FleetDoorbell, LocalDoorbell
from agents.runtime.models import Models
from agents.runtime.process import Configuration, Outside, Process
from agents.runtime.sweeper import Duty, Sweeper
from heartbit_site.base.http import guarded_client, parse_allow
from heartbit_site.base.orm import OrmExecutor
from tools.registry import registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    import httpx
    from redis.asyncio import Redis

    from agents.live.window import Window


def _no_ring(run_id: UUID, queue: str) -> None:
    """A local process's sweeper finds fleet runs as well; they are for the fleet's own sweepers."""


@dataclass(slots=True)
class Host:
    """A running process with its sweeper."""

    process: Process
    window: Window
    _doorbell: Doorbell
    _sweeper: Sweeper
    _clients: tuple[httpx.AsyncClient, ...]
    _valkey: Redis | None
    _flusher: asyncio.Task[None] | None

    async def start(self) -> None:
        """Register the process, then sweep."""
        await self.process.start()
        self._sweeper.start()

    def execute(self, run_id: UUID) -> None:
        """Start a local run in this process."""
        self._doorbell.ring(Child(run_id, ""))

    async def stop(self) -> None:
        """Hand back what is held and close everything, in the opposite order."""
        await asyncio.to_thread(self._sweeper.stop)
        await self.process.stop()
        if self._flusher is not None and isinstance(self.window, ValkeyWindow):
            self._flusher.cancel()
            await asyncio.gather(self._flusher, return_exceptions=True)
            await self.window.flush()
        for client in self._clients:
            await client.aclose()
        if self._valkey is not None:
            await self._valkey.aclose()


def fleet_host(*, queues: tuple[str, ...], slots: int) -> Host:
    """The host of a Celery worker process. Call it on the process's loop."""
    valkey = connect(settings.REDIS_URL)
    window = ValkeyWindow(valkey)
    flusher = asyncio.get_running_loop().create_task(window.run(), name="live-output")
    return _host(
        Home.FLEET,
        window,
        FleetDoorbell(),
        queues=queues,
        slots=slots,
        valkey=valkey,
        flusher=flusher,
    )


def local_host(*, slots: int) -> Host:
    """The host of a stand-alone process: same engine, same journal, no broker."""
    doorbell = LocalDoorbell(slots=slots)
    host = _host(Home.LOCAL, LocalWindow(), doorbell, queues=(), slots=slots)
    doorbell.connect(host.process.execute)
    return host


def _host(
    home: Home,
    window: Window,
    doorbell: Doorbell,
    *,
    queues: tuple[str, ...],
    slots: int,
    valkey: Redis | None = None,
    flusher: asyncio.Task[None] | None = None,
) -> Host:
    providers = create_client()
    guarded = guarded_client(allow=parse_allow(settings.HEARTBIT_HTTP_ALLOW))
    local_url: Callable[[], str] = import_string(settings.HEARTBIT_LOCAL_MODEL_URL)
    configuration = Configuration(
        database_url=settings.DATABASE_URL,
        direct_url=settings.DATABASE_DIRECT_URL,
        home=home,
        queues=queues,
        slots=slots,
        lease_seconds=settings.HEARTBIT_LEASE_SECONDS,
        default_model=factory.default_model(os.environ),
    )
    outside = Outside(
        registry=registry,
        window=window,
        doorbell=doorbell,
        models=Models(providers, local_url),
        guarded=guarded,
        executor=OrmExecutor(16, name="tool"),
    )
    process = Process(configuration, outside)
    sweeper = Sweeper(
        Duty(
            conninfo=settings.DATABASE_DIRECT_URL,
            every_seconds=settings.HEARTBIT_SWEEP_SECONDS,
            max_attempts=settings.HEARTBIT_MAX_ATTEMPTS,
            queues=queues,
            own_worker_id=lambda: process.control.worker_id,
            free_slots=lambda: slots - process.in_flight if home is Home.FLEET else 0,
            ring=(lambda run_id, queue: dispatch.ring(run_id, queue=queue))
            if home is Home.FLEET
            else _no_ring,
        )
    )
    return Host(process, window, doorbell, sweeper, (providers, guarded), valkey, flusher)
