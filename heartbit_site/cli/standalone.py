"""A run in this process: same engine and journal as the fleet's, no broker, no worker."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db import connections

from agents.actions.cancel_run import cancel_run
from agents.actions.start_run import find_agent, start_run, task_text
from agents.choices import Home
from agents.runtime.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.cli.attendant import Attendant
from heartbit_site.cli.deciding import actor
from heartbit_site.cli.display import Display, progress
from heartbit_site.cli.outcome import conclude
from heartbit_site.cli.output import note
from heartbit_site.cli.preflight import check_run
from heartbit_site.cli.team import team_of
from heartbit_site.cli.watch import interrupts, watch
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from uuid import UUID

    from agents.payload import TaskPayload
    from heartbit_site.base.models import Workspace

SLOTS: Final = 100
STOP_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `heartbit run` was asked.

    Attributes:
        agent: Empty: the orchestrator, or whom the configuration file asks first.
        file: The configuration file whose team is meant; None: the admin's agents.
        approve: Every tool call waits for a person.
    """

    task: str
    agent: str
    model: str
    payload: TaskPayload | None
    file: Path | None
    approve: bool


def run(request: Request, *, as_json: bool, plain: bool) -> int:
    """Do the task and print the answer; the exit code says how it ended."""
    workspace = default_workspace()
    task_text(request.task, request.payload)  # an empty one is refused before a team is made
    chosen = (
        team_of(workspace, request.file, request.agent)
        if request.file is not None
        else find_agent(workspace, request.agent or "orchestrator")
    )
    check_run(chosen, request.model)

    def start() -> UUID:
        return start_run(
            workspace,
            request.task,
            agent=chosen.name,
            model=request.model,
            home=Home.LOCAL,
            origin=chosen.origin,
            approve=request.approve,
            payload=request.payload,
            by=actor(),
        )

    return stay_here(workspace, start, as_json=as_json, plain=plain)


def stay_here(
    workspace: Workspace, start: Callable[[], UUID], *, as_json: bool, plain: bool
) -> int:
    """Execute the local run that `start` gives, show it to its end and print how it ended."""
    display = Display() if as_json else progress(plain_lines=plain)

    def cancel(run_id: UUID) -> None:
        cancel_run(workspace, run_id, reason="Ctrl-C", by=actor())

    connections.close_all()  # the next one is new, whatever becomes of the database meanwhile
    run_id = asyncio.run(_run(start, cancel, display))
    return conclude(run_id, as_json=as_json)


async def _run(start: Callable[[], UUID], cancel: Callable[[UUID], None], display: Display) -> UUID:
    host = LocalHost(slots=SLOTS)
    attendant = Attendant(display)
    cancelling: list[asyncio.Future[None]] = []
    await host.start()
    try:
        run_id = await orm.in_thread(start)

        def interrupted() -> None:
            note("Cancelling ... (Ctrl-C again to leave at once)")
            cancelling.append(asyncio.ensure_future(orm.in_thread(lambda: cancel(run_id))))

        with display, interrupts(display, interrupted, attendant):
            host.execute(run_id)
            await watch(run_id, host.window, display, attendant)
        await asyncio.gather(*cancelling)
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):  # a database that is away answers nothing
                await host.stop()
    return run_id
