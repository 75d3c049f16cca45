"""Progress as plain lines, for logs and pipes: one fact a line, no control characters."""

from __future__ import annotations

from typing import Final

from agents.journal import events
from agents.live.updates import EventUpdate, Update
from agents.live.view import RunView
from agents.live.words import say
from heartbit_site.base.amounts import duration
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.cli.views.tree import Tree

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


def lines(tree: Tree, update: Update) -> list[str]:
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
