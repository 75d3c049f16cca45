"""Updates of a remote run: printed as its server sends them, or as the displays take them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from agents.journal.events import Event, RecordedEvent
from agents.live.readable import readable
from agents.live.updates import DeltaUpdate, EventUpdate, RunUpdate
from agents.runs.live_entries import Delta
from heartbit_site.cli.output import write_json

if TYPE_CHECKING:
    from agents.live.updates import Update


#: The updates that can be decoded; a newer server may send others.
TYPES: Final = frozenset({"run", "event", "delta"})


class JsonPrinter:
    """Prints one JSON object for each update, on stdout; each fact once."""

    def __init__(self) -> None:
        self._seqs: dict[str, int] = {}

    def print(self, update: dict[str, Any]) -> None:
        """Print an update, if it is news."""
        run = update["run_id"]
        match update["type"]:
            case "run":
                if run in self._seqs:
                    return
                self._seqs[run] = 0
            case "event":
                if update["seq"] <= self._seqs.get(run, 0):
                    return
                self._seqs[run] = update["seq"]
        write_json(update)


@dataclass(frozen=True, slots=True)
class RunNamed:
    """Summary of a run for a display that first sees it."""

    pk: UUID
    parent_id: UUID | None
    agent: str
    task: str


def decoded(update: dict[str, Any]) -> Update:
    """Return an update of a server as one of ours."""
    run_id = UUID(update["run_id"])
    match update["type"]:
        case "run":
            parent = UUID(update["parent_id"]) if update["parent_id"] else None
            return RunUpdate(RunNamed(run_id, parent, update["agent"], update["task"]))
        case "event":
            event = cast("Event", readable(update["event"], update["payload"]))
            at = datetime.fromisoformat(update["at"])
            return EventUpdate(run_id, RecordedEvent(update["seq"], at, event))
        case _:
            delta = Delta(
                turn=update["turn"],
                attempt=update["attempt"],
                offset=update["offset"],
                text=update["text"],
                kind=update["kind"],
            )
            return DeltaUpdate(run_id, delta)
