"""What is said about the fleet. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import one_line, seconds, write, write_json
from heartbit_site.cli.rolling import chosen, restart, stop
from heartbit_site.cli.table import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.operation import Asked, Holdable, Operation

STYLES: Final = {
    "alive": "green",
    "stale": "red",
    "leaving": "yellow",
    "paused": "yellow",
    "nobody": "red",
}
WORKERS: Final = ("ID", "WORKER", "STATE", "UPTIME", "HOLDS", "LAST BEAT", "QUEUES")
QUEUES: Final = ("QUEUE", "QUEUED", "RUNNING", "OLDEST", "HELD BACK", "SERVED BY")


def show(operation: Operation, *, as_json: bool) -> int:
    """Print workers, queues, and what is wrong with them."""
    fleet = operation.fleet()
    if as_json:
        write_json(dict(fleet))
        return OK
    totals = fleet["totals"]
    write(
        f"{_counted(totals['workers'], 'worker')} alive, {totals['used']} of {totals['slots']} "
        f"slots in use, {_counted(totals['queued'], 'run')} queued"
    )
    if fleet["workers"]:
        write("")
        print_table(WORKERS, [_worker(row) for row in fleet["workers"]], styles=STYLES)
    if fleet["queues"]:
        write("")
        rows = [_queue(row) for row in fleet["queues"]]
        print_table(QUEUES, rows, styles=STYLES)
    console = Console(highlight=False)
    for sentence in fleet["problems"]:
        console.print(Text(f"\n{one_line(sentence)}", style="red"), soft_wrap=True)
    return OK


def act(
    operation: Operation, wanted: Asked, name: str | None, *, patience: float, as_json: bool
) -> int:
    """Stop or restart one worker, or all, and wait for it."""
    workers = chosen(operation.fleet(), name)
    {"stop": stop, "restart": restart}[wanted](operation, workers, patience=patience)
    if as_json:
        write_json({"wanted": wanted, "workers": [row["name"] for row in workers]})
    elif not workers:
        write("There is no worker.")
    else:
        names = ", ".join(row["name"] for row in workers)
        write(f"{'Stopped' if wanted == 'stop' else 'Restarted'}: {names}.")
    return OK


def hold(
    operation: Operation,
    what: Holdable,
    name: str,
    *,
    reason: str,
    place: str = "",
    as_json: bool,
) -> int:
    """Hold back a queue, a workspace, a tool (in the workspace ``place``) or everything."""
    done = operation.hold(what, name, reason, place=place)
    if as_json:
        write_json(done)
        return OK
    verb = "paused" if what == "queue" else "stopped"
    subject = _subject(what, name, place)
    write(f"{subject} {'is' if done['changed'] else 'was already'} {verb}.")
    return OK


def free(operation: Operation, what: Holdable, name: str, *, place: str = "", as_json: bool) -> int:
    """Let it go on."""
    done = operation.free(what, name, place=place)
    if as_json:
        write_json(done)
        return OK
    verb = "paused" if what == "queue" else "stopped"
    subject = _subject(what, name, place)
    again = "may be called again" if what == "tool" else "goes on"
    write(f"{subject} {again}." if done["changed"] else f"{subject} was not {verb}.")
    return OK


def _subject(what: Holdable, name: str, place: str) -> str:
    where = f" in {one_line(place)}" if place else ""
    return "Everything" if what == "all" else f"The {what} {one_line(name)}{where}"


def _worker(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(row["id"]),
        one_line(row["name"]),
        row["state"],
        seconds(row["uptime_seconds"]),
        f"{row['used']} of {row['slots']}",
        f"{seconds(row['beat_seconds'])} ago",
        one_line(", ".join(row["queues"])) or "one suspicious run, alone",
    )


def _queue(row: Mapping[str, Any]) -> tuple[str, ...]:
    serving = row["workers"]
    return (
        one_line(row["name"]),
        str(row["depth"]),
        str(row["running"]),
        seconds(row["oldest_seconds"]) if row["depth"] else "-",
        str(row["parked"] or "-"),
        "paused" if row["paused"] else _counted(serving, "worker") if serving else "nobody",
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
