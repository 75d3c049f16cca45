"""Display of a remote run: its server's updates, as the displays of local runs take them."""

from __future__ import annotations

import importlib
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, Self, cast
from uuid import UUID

from heartbit_site.cli.output import write_json

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from agents.journal.events import Event
    from agents.live.updates import Update
    from heartbit_site.cli.display import Display


class Shown(Protocol):
    """Display of updates as they come."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def update(self, update: dict[str, Any]) -> None:
        """Take in an update, as the server sends it."""
        ...

    def tick(self) -> None:
        """Some time has passed; called several times a second."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """Within it nothing is shown: the terminal belongs to a question."""
        ...


class Lines:
    """One JSON object for each update, on stdout; each fact once."""

    def __init__(self) -> None:
        self._seqs: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""

    def update(self, update: dict[str, Any]) -> None:
        """Print it, if it is news."""
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

    def tick(self) -> None:
        """Lines do not move."""

    def paused(self) -> AbstractContextManager[None]:
        """Lines are none of the terminal's."""
        return nullcontext()


class Progress:
    """A display of local runs, fed from afar."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the terminal as the display does."""
        self._display.__exit__(*error)

    def update(self, update: dict[str, Any]) -> None:
        """Show it."""
        self._display.update(decoded(update))

    def tick(self) -> None:
        """Draw the next frame."""
        self._display.tick()

    def paused(self) -> AbstractContextManager[None]:
        """Leave the terminal to a question."""
        return self._display.paused()


@dataclass(frozen=True, slots=True)
class RunNamed:
    """Summary of a run for a display that first sees it."""

    pk: UUID
    parent_id: UUID | None
    agent: str
    task: str


def progress(*, plain_lines: bool) -> Progress:
    """Return the live tree where there is a terminal for it, else plain lines."""
    module = importlib.import_module("heartbit_site.cli.display")
    return Progress(module.progress(plain_lines=plain_lines))


def decoded(update: dict[str, Any]) -> Update:
    """Return an update of a server as one of ours."""
    from agents.journal import events  # noqa: PLC0415  only a watched run needs these
    from agents.live import readable, updates  # noqa: PLC0415
    from agents.runs import live_entries  # noqa: PLC0415

    run_id = UUID(update["run_id"])
    match update["type"]:
        case "run":
            parent = UUID(update["parent_id"]) if update["parent_id"] else None
            named = RunNamed(run_id, parent, update["agent"], update["task"])
            return cast("Update", updates.RunUpdate(named))
        case "event":
            event = cast("Event", readable.readable(update["event"], update["payload"]))
            at = datetime.fromisoformat(update["at"])
            recorded = events.RecordedEvent(update["seq"], at, event)
            return cast("Update", updates.EventUpdate(run_id, recorded))
        case _:
            delta = live_entries.Delta(
                turn=update["turn"],
                attempt=update["attempt"],
                offset=update["offset"],
                text=update["text"],
                kind=update["kind"],
            )
            return cast("Update", updates.DeltaUpdate(run_id, delta))
