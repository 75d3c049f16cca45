"""`heartbit fleet`: workers and queues; stop and restart; pauses, and the stop of everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from rich.console import Console
from rich.text import Text

from agents.reads.views import FleetOut, QueueOut, WorkerOut
from heartbit_site.base.amounts import counted, duration
from heartbit_site.cli.backend.chosen import backend, call
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.serving import rolling_restart
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.output import as_json, one_line, write, write_json
from heartbit_site.cli.terminal.table import Table, print_done, print_view
from heartbit_site.contract import fleet as contract
from heartbit_site.contract.fleet import SHOW_FLEET, Holdable, PauseStateOut

if TYPE_CHECKING:
    #: What is meant, and the parameters of its path.
    Named = tuple[Holdable, dict[str, Any]]

WORKER = common.argument(
    "[WORKER]", "The worker's id, host:pid or pid, as `heartbit fleet` shows; none: all.", None
)
PATIENCE = common.option("--timeout SECONDS", "Wait this long for each worker.", 120.0, min=1)
QUEUE = common.argument("QUEUE", "The queue's name, as `heartbit fleet` shows it.")
WORKSPACE = common.argument("[WORKSPACE]", "The workspace's short name; none: everything.", None)
TOOL = common.argument("TOOL", "The tool's name, as `heartbit tools` lists it.")
PLACE = common.option(
    "--workspace WORKSPACE", "Only in this workspace (its short name), not in all.", None
)
REASON = common.option("TEXT", "Give a reason, shown in the fleet view and stored in the audit.")

STYLES: Final = {
    "alive": "green",
    "stale": "red",
    "leaving": "yellow",
    "paused": "yellow",
    "no worker": "red",
}

app = common.group()


@app.command(cls=RemoteCommand)
def status() -> int:
    """Show the workers, the queues, and their problems."""
    fleet = call(SHOW_FLEET, reads_only=True)
    return print_view(fleet, lambda: _print(fleet))


def _print(fleet: FleetOut) -> None:
    totals = fleet.totals
    write(
        f"{counted(totals.workers, 'worker')} alive, {totals.slots_used} of {totals.slots} "
        f"slots in use, {counted(totals.queued, 'run')} queued"
    )
    if fleet.workers:
        write("")
        WORKERS.print(fleet.workers)
    if fleet.queues:
        write("")
        QUEUES.print(fleet.queues)
    console = Console(highlight=False)
    for sentence in fleet.problems:
        console.print(Text(f"\n{one_line(sentence)}", style="red"), soft_wrap=True)


@app.command(cls=RemoteCommand)
def stop(worker: str | None = WORKER, *, patience: float = PATIENCE) -> int:
    """Stop one worker, or all: they requeue their runs and exit.

    A supervisor that restarts whatever ends (docker-compose.yml, Kubernetes, systemd with
    Restart=always) starts the worker again: stop it there. `heartbit up` and the units in
    deploy/systemd leave it stopped.
    """
    return _act("stop", worker, patience)


@app.command(cls=RemoteCommand)
def restart(worker: str | None = WORKER, *, patience: float = PATIENCE) -> int:
    """Restart one worker, or all one after the other, as after an upgrade.

    Each requeues its runs and starts itself again, with the code that is installed then.
    """
    return _act("restart", worker, patience)


def _act(wanted: Literal["stop", "restart"], worker: str | None, patience: float) -> int:
    server = backend()
    workers = rolling_restart.chosen(server.call(SHOW_FLEET), worker)
    if wanted == "stop":
        rolling_restart.stop(server, workers, patience=patience)
    else:
        rolling_restart.restart(server, workers, patience=patience)
    names = [row.name for row in workers]
    if as_json():
        write_json({"requested_action": wanted, "workers": names})
    elif not workers:
        write("There is no worker.")
    else:
        write(f"{'Stopped' if wanted == 'stop' else 'Restarted'}: {', '.join(names)}.")
    return OK


@app.command(cls=RemoteCommand)
def pause_queue(queue: str = QUEUE, *, reason: str = REASON) -> int:
    """Pause a queue: no run is claimed from it; running ones continue for a minute."""
    return _hold((contract.QUEUE, {"queue": queue}), reason)


@app.command(cls=RemoteCommand)
def resume_queue(queue: str = QUEUE) -> int:
    """Resume a paused queue."""
    return _free((contract.QUEUE, {"queue": queue}))


@app.command(cls=RemoteCommand)
def halt(workspace: str | None = WORKSPACE, *, reason: str = REASON) -> int:
    """Halt everything, or one workspace: no run starts, running ones are requeued.

    Nothing is lost; `heartbit fleet resume` ends the halt.
    """
    return _hold(_all_or(workspace), reason)


@app.command(cls=RemoteCommand)
def resume(workspace: str | None = WORKSPACE) -> int:
    """End the halt of everything, or of one workspace."""
    return _free(_all_or(workspace))


@app.command(cls=RemoteCommand)
def disable_tool(tool: str = TOOL, *, place: str | None = PLACE, reason: str = REASON) -> int:
    """Disable a tool, everywhere or in one workspace: its calls are refused.

    Models read why, and runs continue without it; `heartbit fleet enable-tool` ends that.
    """
    return _hold(_tool(tool, place), reason)


@app.command(cls=RemoteCommand)
def enable_tool(tool: str = TOOL, *, place: str | None = PLACE) -> int:
    """Enable a disabled tool, everywhere or in one workspace."""
    return _free(_tool(tool, place))


def _all_or(workspace: str | None) -> Named:
    if workspace is None:
        return contract.EVERYTHING, {}
    return contract.ANY_WORKSPACE, {"slug": _not_empty(workspace)}


def _tool(name: str, workspace: str | None) -> Named:
    if workspace is None:
        return contract.TOOL, {"tool": name}
    return contract.TOOL_IN_ANY_WORKSPACE, {"slug": _not_empty(workspace), "tool": name}


def _not_empty(slug: str) -> str:
    """Return a short name that is not empty: an unset variable of a shell means no "everything".

    Raises:
        CommandError: It is empty.
    """
    if not slug:
        raise UsageError("The workspace's short name is empty: leave it out for all.")
    return slug


def _hold(named: Named, reason: str) -> int:
    what, names = named
    done = call(what.hold, {"reason": reason}, **names)
    return print_done(
        done, f"{_subject(done)} {'is' if done.changed else 'was already'} {_state(done)}."
    )


def _free(named: Named) -> int:
    what, names = named
    done = call(what.free, **names)
    again = "may be called again" if done.kind == "tool" else "is resumed"
    return print_done(
        done, f"{_subject(done)} {again if done.changed else f'was not {_state(done)}'}."
    )


def _subject(done: PauseStateOut) -> str:
    where = f" in {one_line(done.workspace)}" if done.workspace else ""
    return "Everything" if done.kind == "all" else f"The {done.kind} {one_line(done.name)}{where}"


def _state(done: PauseStateOut) -> str:
    return "paused" if done.kind == "queue" else "stopped"


def _served(queue: QueueOut) -> str:
    if queue.paused:
        return "paused"
    return counted(queue.workers, "worker") if queue.workers else "no worker"


WORKERS: Final = Table.of(
    WorkerOut,
    "ID WORKER=name STATE UPTIME HOLDS LAST_BEAT QUEUES",
    styles=STYLES,
    UPTIME=lambda worker: duration(worker.uptime_seconds),
    HOLDS=lambda worker: f"{worker.slots_used} of {worker.slots}",
    LAST_BEAT=lambda worker: f"{duration(worker.heartbeat_age_seconds)} ago",
    QUEUES=lambda worker: ", ".join(worker.queues) or "one suspicious run, alone",
)
QUEUES: Final = Table.of(
    QueueOut,
    "QUEUE=name QUEUED=depth RUNNING OLDEST BLOCKED=blocked|- SERVED_BY",
    styles=STYLES,
    OLDEST=lambda queue: duration(queue.oldest_seconds) if queue.depth else "-",
    SERVED_BY=_served,
)
