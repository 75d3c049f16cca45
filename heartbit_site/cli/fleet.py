"""A run on the fleet: accepted here, executed by whichever worker serves its queue."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from django.conf import settings
from django.db import connections

from agents.actions.create_default_team import ORCHESTRATOR
from agents.actions.start_run import find_agent, start_run, task_text
from agents.choices import LIVE
from agents.live.valkey import ValkeySource, connect
from agents.models import Run
from agents.querysets import tree
from heartbit_site.cli import describe
from heartbit_site.cli.deciding import actor
from heartbit_site.cli.display import Display, JsonLines, progress
from heartbit_site.cli.errors import CANCELLED, OK, WAITING
from heartbit_site.cli.inline import attendant_of
from heartbit_site.cli.load import load
from heartbit_site.cli.outcome import conclude
from heartbit_site.cli.output import note, write, write_json
from heartbit_site.cli.watch import interrupts, watch
from heartbit_site.cli.workers import alive
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from agents.payload import TaskPayload
    from heartbit_site.cli.attendant import Attendant


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `heartbit submit` was asked.

    Attributes:
        agent: Empty: the orchestrator, or whom the configuration file asks first.
        file: The configuration file whose team is meant; None: the installation's agents.
        approve: Every tool call waits for a person.
    """

    task: str
    agent: str = ""
    model: str = ""
    priority: int = 0
    idempotency_key: str | None = None
    payload: TaskPayload | None = None
    file: Path | None = None
    approve: bool = False


def submit(request: Request, *, follow: bool, as_json: bool, plain: bool) -> int:
    """Accept a run; with `follow`, stay until it has ended."""
    workspace = default_workspace()
    task_text(request.task, request.payload)  # an empty one is refused before a team is made
    chosen = (
        load("team").team_of(workspace, request.file, request.agent)
        if request.file is not None
        else find_agent(workspace, request.agent or ORCHESTRATOR)
    )
    if request.model:
        load("preflight").check_reference(request.model)  # only then worth its imports
    run_id = start_run(
        workspace,
        request.task,
        agent=chosen.name,
        model=request.model,
        priority=request.priority,
        idempotency_key=request.idempotency_key,
        origin=chosen.origin,
        approve=request.approve,
        payload=request.payload,
        by=actor(),
    )
    run = Run.objects.get(pk=run_id)
    if not follow:
        if as_json:
            write_json(describe.run_tree(run, tree(run.root_id)))
        else:
            write(str(run_id))
        warn_without_worker(run)
        return OK
    if not as_json:
        note(f"Run {run_id}")
    warn_without_worker(run)
    return stay(run, as_json=as_json, plain=plain)


def stay(run: Run, *, as_json: bool, plain: bool, leaves: bool = False) -> int:
    """Show a run's tree until it has ended, then how it ended. Ctrl-C leaves; the run goes on.

    Args:
        run: Which.
        as_json: Print its events and its machine form.
        plain: Write progress as lines.
        leaves: Leave when the tree can only wait for a person, and nobody can be asked here.
    """
    display: Display = JsonLines() if as_json else progress(plain_lines=plain)
    attendant = attendant_of(display, leaves=leaves)
    connections.close_all()  # the next one is new, whatever becomes of the database meanwhile
    ending = asyncio.run(_watch(run.root_id, display, attendant))
    if ending == "waits":
        note(f"Nobody can be asked here. `heartbit resume {run.pk}` then watches the run again.")
        return WAITING
    if ending == "left":
        note(f"The run goes on: `heartbit status {run.pk} --watch`, or `heartbit cancel {run.pk}`.")
        return CANCELLED
    return conclude(run.pk, as_json=as_json, watched=True)


async def _watch(
    root_id: UUID, display: Display, attendant: Attendant
) -> Literal["ended", "left", "waits"]:
    """Watch a tree to its end, to Ctrl-C or until the attendant leaves it to people."""
    valkey = connect(settings.REDIS_URL)
    try:
        with display:
            watching = asyncio.ensure_future(
                watch(root_id, ValkeySource(valkey), display, attendant)
            )

            def leave() -> None:
                watching.cancel()

            with interrupts(display, leave, attendant):
                await asyncio.wait([watching])
        if watching.cancelled():
            return "left"
        watching.result()
        return "waits" if attendant.waits else "ended"
    finally:
        await valkey.aclose()


def warn_without_worker_of(run_id: str) -> None:
    """See ``warn_without_worker``."""
    warn_without_worker(Run.objects.get(pk=run_id))


def warn_without_worker(run: Run) -> None:
    """Say so when a run waits for workers that are not there."""
    if run.status in LIVE and not alive(run.queue):
        note(
            f"No worker serves the queue {run.queue} now, so the run waits: "
            "`heartbit serve` starts one."
        )
