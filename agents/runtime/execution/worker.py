"""The host of a fleet worker process, from the worker's start to its stop."""

from __future__ import annotations

from agents.runtime.execution.host import FleetHost
from heartbit_site.base import aio

_host: list[FleetHost] = []  # at most one, process-wide


def host() -> FleetHost:
    """Return the running host.

    Raises:
        RuntimeError: The worker was not started through ``heartbit_site.celery``.
    """
    if not _host:
        raise RuntimeError("this process runs no host: start it with `heartbit serve`")
    return _host[0]


def start(*, queues: tuple[str, ...], slots: int) -> None:
    """Start the host on the process's loop; return when it may claim runs."""

    async def begin() -> FleetHost:
        started = FleetHost(queues=queues, slots=slots)
        await started.start()
        return started

    _host.append(aio.run(begin()))


async def check_readiness() -> dict[str, str]:
    """Return the result of `agents.runtime.execution.readiness`; call it on the process's loop."""
    if not _host:
        return {"registration": "missing"}
    return await _host[0].check_readiness()


def drain() -> None:
    """Release all runs, so that a shutdown does not wait for models."""
    if _host:
        aio.submit(_host[0].process.drain())  # a signal handler must not wait


def stop() -> None:
    """Stop the host."""
    if _host:
        aio.run(_host.pop().stop())
