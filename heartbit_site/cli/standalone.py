"""A run in this process: same engine and journal as the fleet's, no broker, no worker."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from django.db import connections

from agents.actions.cancel_run import cancel_run
from agents.actions.start_run import start_run
from agents.choices import Home
from agents.runtime.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.cli.display import Display, progress
from heartbit_site.cli.outcome import conclude
from heartbit_site.cli.output import note
from heartbit_site.cli.preflight import check_run
from heartbit_site.cli.watch import interrupts, watch
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

SLOTS: Final = 100
STOP_SECONDS: Final = 5.0


def run(task: str, *, agent: str, model: str, as_json: bool, plain: bool) -> int:
    """Do the task and print the answer; the exit code says how it ended."""
    workspace = default_workspace()
    check_run(workspace, agent, model)
    display = Display() if as_json else progress(plain_lines=plain)

    def start() -> UUID:
        return start_run(workspace, task, agent=agent, model=model, home=Home.LOCAL)

    def cancel(run_id: UUID) -> None:
        cancel_run(workspace, run_id, reason="Ctrl-C")

    connections.close_all()  # the next one is new, whatever becomes of the database meanwhile
    run_id = asyncio.run(_run(start, cancel, display))
    return conclude(run_id, as_json=as_json)


async def _run(start: Callable[[], UUID], cancel: Callable[[UUID], None], display: Display) -> UUID:
    host = LocalHost(slots=SLOTS)
    cancelling: list[asyncio.Future[None]] = []
    await host.start()
    try:
        run_id = await orm.in_thread(start)

        def interrupted() -> None:
            note("Cancelling ... (Ctrl-C again to leave at once)")
            cancelling.append(asyncio.ensure_future(orm.in_thread(lambda: cancel(run_id))))

        with display, interrupts(display, interrupted):
            host.execute(run_id)
            await watch(run_id, host.window, display)
        await asyncio.gather(*cancelling)
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):  # a database that is away answers nothing
                await host.stop()
    return run_id
