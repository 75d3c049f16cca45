"""A run in this process: same engine and journal as the fleet's, no broker, no worker."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connections

from agents.actions.runs import cancel_run
from agents.live.follow import follow
from agents.models import Run
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from heartbit_site.base.os_user import terminal_user
from heartbit_site.cli.following.approval_watcher import ApprovalWatcher
from heartbit_site.cli.following.local_runs import attendant_of, short_id
from heartbit_site.cli.following.watch import exit_code, interrupts, watch
from heartbit_site.cli.terminal.errors import WAITING
from heartbit_site.cli.terminal.invocation import as_json
from heartbit_site.cli.terminal.output import note, write_json
from heartbit_site.cli.views import describe
from heartbit_site.cli.views.display import Display, progress
from heartbit_site.cli.views.outcome import conclude
from heartbit_site.operations.run_views import detail

SLOTS: Final = 100
STOP_SECONDS: Final = 5.0


def stay_here(
    workspace: Workspace,
    start: Callable[[], UUID],
    *,
    plain: bool,
    leaves: bool = False,
) -> int:
    """Execute the local run that `start` gives, show it to its end and print its end.

    Args:
        workspace: Where.
        start: Makes the run, or names it.
        plain: Write progress as lines.
        leaves: Leave when the run can only wait for a person, and there is no terminal.
    """
    display = Display() if as_json() else progress(plain_lines=plain)

    def cancel(run_id: UUID) -> None:
        cancel_run(workspace, run_id, reason="Ctrl-C", by=terminal_user())

    attendant = attendant_of(display, leaves=leaves)
    connections.close_all()  # the next one is new, whatever becomes of the database meanwhile
    run_id, left = asyncio.run(_run(start, cancel, display, attendant))
    run = Run.objects.get(pk=run_id)
    if run.finished_at is not None:  # perhaps while the process was about to leave
        return conclude(detail(run))
    name = short_id(run.pk)
    if left is not None:
        note(f"Left the run as it is ({left.name}): `heartbit resume {name}` goes on.")
        return exit_code(left)
    if attendant.waits:
        note(f"Nobody can be asked here. Afterwards `heartbit resume {name}` goes on.")
        if as_json():
            write_json(describe.run_tree(detail(run)))
        return WAITING
    return conclude(detail(run))


async def _run(
    start: Callable[[], UUID],
    cancel: Callable[[UUID], None],
    display: Display,
    attendant: ApprovalWatcher,
) -> tuple[UUID, signal.Signals | None]:
    """Return the run, and the signal that made the process leave before its end; None: nothing."""
    host = LocalHost(slots=SLOTS)
    cancelling: list[asyncio.Future[None]] = []
    signals: list[signal.Signals] = []
    await host.start()
    with contextlib.ExitStack() as heeding:  # while the host drains as well
        try:
            run_id = await orm.run_in_thread(start)
            watching = asyncio.ensure_future(
                watch(run_id, lambda: follow(run_id, host.window), display, attendant)
            )

            def interrupted() -> None:
                note("Cancelling the run ... (Ctrl-C again leaves at once)")
                cancelling.append(asyncio.ensure_future(orm.run_in_thread(lambda: cancel(run_id))))

            def leave(number: signal.Signals) -> None:
                signals.append(number)
                watching.cancel()

            heeding.enter_context(interrupts(display, interrupted, attendant, leave=leave))
            with display:
                host.execute(run_id)
                await asyncio.wait([watching])
            if not watching.cancelled():
                watching.result()
            await asyncio.gather(*cancelling)
        finally:
            # Whoever leaves lets the effects under way end, so that nobody has to ask about them.
            drain = settings.HEARTBIT_DRAIN_SECONDS if signals else 0.0
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS + drain):  # a database may answer nothing
                    await host.stop()
    return run_id, signals[0] if signals else None
