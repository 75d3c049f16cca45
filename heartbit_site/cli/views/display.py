"""Displays of a run tree: a live tree, plain lines, JSON lines, or none.

Progress goes to stderr, so that stdout holds the answer and nothing else.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from agents.journal import events
from agents.live.json_lines import to_json_line
from agents.live.updates import EventUpdate, Update
from agents.live.view import RunView
from agents.live.words import say
from heartbit_site.base.amounts import duration
from heartbit_site.cli.terminal.output import as_json, is_terminal, note, one_line, write_json
from heartbit_site.cli.views.render import Canvas, render
from heartbit_site.cli.views.tree import Tree

QUIET_SECONDS: Final = 15.0  # a silence after which plain lines say what is going on


class Display:
    """Shows nothing: the result alone is wanted. The others show more."""

    def __init__(self) -> None:
        self.tree = Tree()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""

    def update(self, update: Update) -> None:
        """Take in an update."""
        self.tree.apply(update)

    def tick(self) -> None:
        """Some time has passed; called several times a second."""

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Within it nothing is shown: the terminal belongs to a question."""
        yield


class JsonLines(Display):
    """One JSON object for each update, on stdout."""

    def update(self, update: Update) -> None:
        """Print it, if it is news."""
        if self.tree.apply(update) is not None:
            write_json(to_json_line(update, self.tree.runs[update.run_id]))


class Lines(Display):
    """Plain lines on stderr."""

    def __init__(self) -> None:
        super().__init__()
        self._spoke_at = time.monotonic()
        self._held: list[str] | None = None
        self._progress: list[str] = []

    def update(self, update: Update) -> None:
        """Write about it, if it is worth a line."""
        if self.tree.apply(update) is not None:
            self._write(event_lines(self.tree, update))

    def tick(self) -> None:
        """After a long silence, say what is going on."""
        if self._held is None and time.monotonic() - self._spoke_at > QUIET_SECONDS:
            lines = progress_lines(self.tree)
            works = any(run.status == "running" for run in self.tree.runs.values())
            if works or lines != self._progress:  # what waits is said once
                self._write(lines)
            self._progress = lines

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the lines until the question is answered."""
        held: list[str] = []
        self._held = held
        try:
            yield
        finally:
            self._held = None
            self._write(held)

    def _write(self, lines: list[str]) -> None:
        if self._held is not None:
            self._held += lines
            return
        for line in lines:
            note(line)
            self._spoke_at = time.monotonic()


class Screen(Display):
    """A live tree on the terminal; at the end the whole tree stays."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        """Replace what moved by what stays."""
        self._end()
        for line in self._lines(height=0):
            self._console.print(line, soft_wrap=True)

    def tick(self) -> None:
        """Draw the next frame."""
        if self._live is None:
            return
        height = max(3, self._console.height - 1)
        self._live.update(Group(*self._lines(height=height)), refresh=True)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Take the tree off the terminal, and put it below the question afterwards."""
        self._end()
        try:
            yield
        finally:
            self._begin()

    def _begin(self) -> None:
        # A new one each time: a stopped one would draw over as many lines as it last had.
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop"
        )
        self._live.start()

    def _end(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _lines(self, *, height: int) -> list[Text]:
        now = datetime.now(UTC)
        return render(
            self.tree, Canvas(self._console.width, now, height, self._console.options.ascii_only)
        )


def progress(*, plain_lines: bool) -> Display:
    """Return the live tree where there is a terminal for it, else plain lines."""
    return Lines() if plain_lines or not is_terminal() else Screen()


def watched(*, plain_lines: bool) -> Display:
    """Return the display of a run that is watched: JSON lines if they are asked for."""
    return JsonLines() if as_json() else progress(plain_lines=plain_lines)


NAME_WIDTH: Final = 13
LONGEST: Final = 240
#: Not worth a line: what comes next says it.
_SILENT: Final = (events.RunCreated, events.RunForked, events.ToolStarted)
#: Their texts are long, or come by themselves.
_TITLE_ONLY: Final = (
    events.ModelAnswered,
    events.ContextSummarized,
    events.ApprovalRequested,
    events.WaitResolved,
    events.RunCancelled,
    events.RunQuarantined,
)
_ENDINGS: Final = (events.RunSucceeded, events.RunFailed)


def event_lines(tree: Tree, update: Update) -> list[str]:
    """Return the lines about an update that the tree has just taken in."""
    if not isinstance(update, EventUpdate):
        return []
    run = tree.runs[update.run_id]
    text = _say(update.recorded.event, run)
    return [_line(run, text)] if text else []


def progress_lines(tree: Tree) -> list[str]:
    """Return the progress of the running runs, for a time without updates."""
    at_work = [run for _, run in tree.walk() if not run.over]
    return [_line(run, f"{tree.activity(run)} ...") for run in at_work]


def _line(run: RunView, text: str) -> str:
    return f"{one_line(run.agent, 40):<{NAME_WIDTH}} {text}"


def _say(event: events.Event, run: RunView) -> str:
    if isinstance(event, _SILENT):
        return ""
    if isinstance(event, events.WaitResolved) and run.asked_by(event.key) is None:
        return ""  # a sub-agent says itself how it ended
    if isinstance(event, events.RunStarted) and run.turn:
        return "goes on"
    said = say(event, run.name_of)
    notes = [said.note] if said.note and not isinstance(event, events.RunStarted) else []
    title, text = said.title, said.text
    if isinstance(event, _ENDINGS):
        title += f" after {_elapsed(run)}"
        text = text if run.parent_id else ""  # the root's is the command's last line
    if isinstance(event, _TITLE_ONLY):
        text = ""
    line = one_line(f"{title}: {text}" if text else title, LONGEST)
    return f"{line} ({', '.join(notes)})" if notes else line


def _elapsed(run: RunView) -> str:
    return duration(run.elapsed(run.finished_at)) if run.finished_at else "no time"
