"""Results of `heartbit fleet`. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from agents.reads.fleet_view import QueueOut, WorkerOut
from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.output import one_line, seconds, write, write_json, write_view
from heartbit_site.cli.rolling_restart import Asked, chosen, restart, stop
from heartbit_site.cli.table import Table, print_done
from heartbit_site.contract import pauses
from heartbit_site.contract.fleet import SHOW_FLEET
from heartbit_site.contract.pauses import PauseIn

if TYPE_CHECKING:
    from heartbit_site.contract.pauses import Holdable, PauseStateOut

    #: What is meant, and the parameters of its path.
    Named = tuple[Holdable, dict[str, Any]]

STYLES: Final = {
    "alive": "green",
    "stale": "red",
    "leaving": "yellow",
    "paused": "yellow",
    "nobody": "red",
}


def show(url: str | None, *, as_json: bool) -> int:
    """Print workers, queues, and what is wrong with them."""
    fleet = backend_for(url).call(SHOW_FLEET)
    if as_json:
        write_view(fleet)
        return OK
    totals = fleet.totals
    write(
        f"{_counted(totals.workers, 'worker')} alive, {totals.slots_used} of {totals.slots} "
        f"slots in use, {_counted(totals.queued, 'run')} queued"
    )
    if fleet.workers:
        write("")
        WORKERS.of(fleet.workers).print()
    if fleet.queues:
        write("")
        QUEUES.of(fleet.queues).print()
    console = Console(highlight=False)
    for sentence in fleet.problems:
        console.print(Text(f"\n{one_line(sentence)}", style="red"), soft_wrap=True)
    return OK


def act(url: str | None, wanted: Asked, name: str | None, *, patience: float, as_json: bool) -> int:
    """Stop or restart one worker, or all, and wait for it."""
    backend = backend_for(url)
    workers = chosen(backend.call(SHOW_FLEET), name)
    {"stop": stop, "restart": restart}[wanted](backend, workers, patience=patience)
    names = [row.name for row in workers]
    if as_json:
        write_json({"requested_action": wanted, "workers": names})
    elif not workers:
        write("There is no worker.")
    else:
        write(f"{'Stopped' if wanted == 'stop' else 'Restarted'}: {', '.join(names)}.")
    return OK


def of_queue(name: str) -> Named:
    """Name a queue."""
    return pauses.QUEUE, {"queue": name}


def of_workspace(slug: str | None) -> Named:
    """Name a workspace; None: everything."""
    if slug is None:
        return pauses.EVERYTHING, {}
    return pauses.ANY_WORKSPACE, {"slug": _named(slug)}


def of_tool(name: str, slug: str | None) -> Named:
    """Name a tool in one workspace; None: in all."""
    if slug is None:
        return pauses.TOOL, {"tool": name}
    return pauses.TOOL_IN_ANY_WORKSPACE, {"slug": _named(slug), "tool": name}


def _named(slug: str) -> str:
    """Return a short name that is not empty: an unset variable of a shell means no "everything".

    Raises:
        CommandError: It is empty.
    """
    if not slug:
        raise CommandError("The workspace's short name is empty: leave it out for all.", USAGE)
    return slug


def hold(url: str | None, named: Named, *, reason: str, as_json: bool) -> int:
    """Hold something back."""
    what, names = named
    body = checked(PauseIn, {"reason": reason})
    done = backend_for(url).call(what.hold, body, **names)
    sentence = f"{_subject(done)} {'is' if done.changed else 'was already'} {_state(done)}."
    return print_done(done, sentence, as_json=as_json)


def free(url: str | None, named: Named, *, as_json: bool) -> int:
    """Let it go on."""
    what, names = named
    done = backend_for(url).call(what.free, **names)
    again = "may be called again" if done.kind == "tool" else "is resumed"
    sentence = f"{_subject(done)} {again if done.changed else f'was not {_state(done)}'}."
    return print_done(done, sentence, as_json=as_json)


def _subject(done: PauseStateOut) -> str:
    where = f" in {one_line(done.workspace)}" if done.workspace else ""
    return "Everything" if done.kind == "all" else f"The {done.kind} {one_line(done.name)}{where}"


def _state(done: PauseStateOut) -> str:
    return "paused" if done.kind == "queue" else "stopped"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _served(queue: QueueOut) -> str:
    if queue.paused:
        return "paused"
    return _counted(queue.workers, "worker") if queue.workers else "nobody"


WORKERS: Final = Table[WorkerOut](
    {
        "ID": lambda worker: worker.id,
        "WORKER": lambda worker: worker.name,
        "STATE": lambda worker: worker.state,
        "UPTIME": lambda worker: seconds(worker.uptime_seconds),
        "HOLDS": lambda worker: f"{worker.slots_used} of {worker.slots}",
        "LAST BEAT": lambda worker: f"{seconds(worker.heartbeat_age_seconds)} ago",
        "QUEUES": lambda worker: ", ".join(worker.queues) or "one suspicious run, alone",
    },
    STYLES,
)
QUEUES: Final = Table[QueueOut](
    {
        "QUEUE": lambda queue: queue.name,
        "QUEUED": lambda queue: queue.depth,
        "RUNNING": lambda queue: queue.running,
        "OLDEST": lambda queue: seconds(queue.oldest_seconds) if queue.depth else "-",
        "HELD BACK": lambda queue: queue.blocked or "-",
        "SERVED BY": _served,
    },
    STYLES,
)
