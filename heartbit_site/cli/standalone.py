"""A run in this process: same engine and journal as the fleet's, no broker, no worker."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final
from uuid import UUID

from agents.actions.cancel_run import cancel_run
from agents.actions.start_run import start_run
from agents.choices import Home
from agents.runtime.host import Host, local_host
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from heartbit_site.cli.display import Display, progress
from heartbit_site.cli.outcome import conclude
from heartbit_site.cli.output import note
from heartbit_site.cli.preflight import check_run
from heartbit_site.cli.watch import interrupts, watch
from heartbit_site.first_start import default_workspace

SLOTS: Final = 100
STOP_SECONDS: Final = 5.0


def run(task: str, *, agent: str, model: str, as_json: bool, plain: bool) -> int:
    """Do the task and print the answer; the exit code says how it ended."""
    workspace = default_workspace()
    check_run(workspace, agent, model)
    display = Display() if as_json else progress(plain_lines=plain)
    run_id = asyncio.run(_run(workspace, task, agent, model, display))
    return conclude(run_id, as_json=as_json)


async def _run(
    workspace: Workspace, task: str, agent: str, model: str, display: Display
) -> UUID:
    host = local_host(slots=SLOTS)
    await host.start()
    try:
        run_id = await orm.in_thread(
            lambda: start_run(workspace, task, agent=agent, model=model, home=Home.LOCAL)
        )
        await _follow(host, workspace, run_id, display)
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):  # a database that is away answers nothing
                await host.stop()
    return run_id


async def _follow(host: Host, workspace: Workspace, run_id: UUID, display: Display) -> None:
    cancelling: list[asyncio.Future[None]] = []

    def cancel() -> None:
        note("Cancelling ... (Ctrl-C again to leave at once)")
        work = orm.in_thread(lambda: cancel_run(workspace, run_id, reason="Ctrl-C"))
        cancelling.append(asyncio.ensure_future(work))

    with display, interrupts(display, cancel):
        host.execute(run_id)
        await watch(run_id, host.window, display)
    await asyncio.gather(*cancelling)
