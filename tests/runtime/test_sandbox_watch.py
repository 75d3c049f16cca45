"""A worker's row and the sandbox that it names, while the sandbox comes and goes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.models import WorkerHeartbeat
from agents.runtime.recovery import sandbox_watch
from agents.runtime.recovery.sandbox_watch import SandboxWatch
from tests.pace import Patience
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.probe import Probed

if TYPE_CHECKING:
    import pytest
    from pytest_django.fixtures import Settings

    from tests.runtime.conftest import Studio


class Repaired(Bubblewrap):
    """A sandbox that does not hold until it is repaired."""

    name = "repaired"
    broken = "bwrap is not installed."

    async def problem(self) -> str | None:
        return Repaired.broken or None


async def test_the_row_follows_a_sandbox_that_comes_and_goes(
    studio: Studio, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Driven by heartbeats, which here come each fraction of a second."""
    settings.HEARTBIT_SANDBOX = "repaired"
    monkeypatch.setattr("tools.sandbox.choice.SANDBOXES", {"repaired": Repaired})
    monkeypatch.setattr("tools.sandbox.choice._probed", Probed())
    for module in (sandbox_watch, "tools.sandbox.probe"):
        name = module if isinstance(module, str) else module.__name__
        monkeypatch.setattr(f"{name}.KEEP_SECONDS", 0.0)
    control = studio.host.process.control
    watch = SandboxWatch(control)
    watch.start()

    async def is_written(sandbox: str, problem: str) -> bool:
        patience = Patience(10)
        while patience:
            control._hurry.set()  # the next beat, now
            row = await WorkerHeartbeat.objects.aget(pk=control.worker_id)
            if row.sandbox == sandbox and problem in row.sandbox_problem:
                return bool(problem) == bool(row.sandbox_problem)
            await asyncio.sleep(0.05)
        return False

    try:
        assert await is_written("", "no sandbox works: bwrap is not installed.")
        monkeypatch.setattr(Repaired, "broken", "")
        assert await is_written("repaired", "")
        monkeypatch.setattr(Repaired, "broken", "its walls are open.")
        assert await is_written("", "its walls are open.")
        settings.HEARTBIT_SANDBOX = "off"
        assert await is_written("", "HEARTBIT_SANDBOX is off")
    finally:
        await watch.stop()
