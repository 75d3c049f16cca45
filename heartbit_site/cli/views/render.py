"""The tree as lines of styled text that fit a terminal. Pure: a tree, a size and a time in."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from heartbit_site.base.amounts import duration
from heartbit_site.cli.terminal.output import one_line

if TYPE_CHECKING:
    from agents.live.view import RunView
    from agents.live.view_parts import CallView
    from heartbit_site.cli.views.tree import Tree

SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAMES_A_SECOND: Final = 10
NARROW: Final = 60
TAIL_CHARACTERS: Final = 600  # more than two lines of any terminal


MARKS: Final = {
    "queued": "○",
    "waiting": "◌",
    "succeeded": "✔",
    "failed": "✘",
    "cancelled": "■",
    "quarantined": "✘",
}
#: The signs of a terminal without Unicode.
ASCII: Final = str.maketrans(f"{SPINNER}○◌✔✘■└├│→", "|/-\\|/-\\|/o.+x#`||>")
STYLES: Final = {
    "running": "cyan",
    "queued": "dim",
    "waiting": "dim cyan",
    "succeeded": "green",
    "failed": "red",
    "cancelled": "yellow",
    "quarantined": "red",
}


@dataclass(frozen=True, slots=True)
class Detail:
    """Detail of each run; less of it makes a large tree fit.

    Attributes:
        calls: Tool calls of a running run, the last ones.
        past: Tool calls of a run that has ended.
        text: Lines of the text being written.
        ended: Whether ended sub-agents are shown one by one.
    """

    calls: int
    past: int
    text: int
    ended: bool = True


EVERYTHING: Final = Detail(calls=1000, past=1000, text=0)
LEVELS: Final = (
    Detail(calls=6, past=6, text=2),
    Detail(calls=2, past=2, text=2),
    Detail(calls=1, past=0, text=1),
    Detail(calls=0, past=0, text=0),
    Detail(calls=0, past=0, text=0, ended=False),
)


@dataclass(frozen=True, slots=True)
class Canvas:
    """Time and size of a drawing; `height` 0 means as long as it gets."""

    width: int
    now: datetime
    height: int = 0
    ascii_only: bool = False


def render(tree: Tree, canvas: Canvas) -> list[Text]:
    """Return the tree's lines, within the canvas's width and height."""
    lines = _fitting(tree, canvas)
    if canvas.ascii_only:
        for line in lines:
            line.plain = line.plain.translate(ASCII)
    return lines


def _fitting(tree: Tree, canvas: Canvas) -> list[Text]:
    if not canvas.height:
        return _lines(tree, canvas, EVERYTHING)
    lines: list[Text] = []
    for detail in LEVELS:
        lines = _lines(tree, canvas, detail)
        if len(lines) <= canvas.height:
            return lines
    return [*lines[: canvas.height - 1], _rest(tree, canvas.height - 1)]


def _lines(tree: Tree, canvas: Canvas, detail: Detail) -> list[Text]:
    lines: list[Text] = []
    ended = 0
    for place, run in tree.walk():
        if place and run.over and not detail.ended:
            ended += 1
            continue
        lines += _run(tree, run, place, canvas, detail)
    if ended:
        lines.append(Text(f"  {ended} sub-agents have ended", style="dim"))
    return lines


def _rest(tree: Tree, shown: int) -> Text:
    """Return the count of the sub-agents without room."""
    at_work = [run for place, run in tree.walk() if not (place and run.over)]
    ended = [run for place, run in tree.walk() if place and run.over]
    hidden = [*at_work[shown:], *ended]
    counts = Counter(run.status for run in hidden)
    states = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return Text(f"  ... and {len(hidden)} more sub-agents: {states}", style="dim")


def _run(
    tree: Tree, run: RunView, place: tuple[bool, ...], canvas: Canvas, detail: Detail
) -> list[Text]:
    margin = "".join("  " if last else "│ " for last in place[:-1])
    head = margin + (("└ " if place[-1] else "├ ") if place else "")
    below = margin + (("  " if place[-1] else "│ ") if place else "")
    below += "│ " if tree.children(run.run_id) else "  "
    lines = [_headline(tree, run, head, canvas)]
    for call in _calls(run, detail):
        line = Text.assemble((below, "dim"), _call(call))
        lines.append(_beside(line, "", canvas.width))
    if run.remark and detail.text and not run.over:
        remark = Text.assemble((below, "dim"), (one_line(run.remark, 200), "dim magenta"))
        lines.append(_beside(remark, "", canvas.width))
    if run.text and detail.text:
        width = canvas.width - cell_len(below) - 1
        lines += [
            Text.assemble((below, "dim"), (line, "italic dim" if run.kind == "thinking" else ""))
            for line in tail(run.text, width, detail.text)
        ]
    return lines


def _headline(tree: Tree, run: RunView, head: str, canvas: Canvas) -> Text:
    style = STYLES.get(run.status, "")
    line = Text(head, style="dim")
    line.append(f"{_mark(run, canvas)} ", style=style)
    line.append(one_line(run.agent, 32), style="bold" if not run.over else "")
    if not head and run.model:
        line.append(f"  {one_line(run.model, 40)}", style="dim")
    activity = tree.activity(run)
    if activity:
        line.append(f"  {one_line(activity)}", style=style)
    if head:
        line.append(f"  {one_line(run.task, 200)}", style="dim")
    return _beside(line, _figures(run, canvas), canvas.width)


def _mark(run: RunView, canvas: Canvas) -> str:
    if run.status == "running":
        return SPINNER[int(canvas.now.timestamp() * FRAMES_A_SECOND) % len(SPINNER)]
    return MARKS.get(run.status, "?")


def _figures(run: RunView, canvas: Canvas) -> str:
    if run.started_at is None:
        return ""
    elapsed = f"{duration(run.elapsed(canvas.now)):>8}"
    if canvas.width < NARROW or not run.turn:
        return elapsed
    return f"{run.input_tokens:,} in {run.output_tokens:>6,} out {elapsed}"


def _calls(run: RunView, detail: Detail) -> list[CallView]:
    limit = detail.past if run.over else detail.calls
    return list(run.calls.values())[-limit:] if limit else []


def _call(call: CallView) -> Text:
    line = Text(one_line(call.tool, 40), style="dim" if call.over else "cyan")
    arguments = one_line(call.brief_arguments, 80)
    if arguments:
        line.append(f" {arguments}", style="dim")
    if call.asked:
        line.append(" waits for a person's decision", style="yellow")
    elif call.doubt:
        line.append(" of unknown outcome: waits for a person to resolve it", style="yellow")
    elif call.decided:
        line.append(f" ({one_line(call.decided, 60)})", style="magenta")
    elif call.grant is not None:
        line.append(" (by a standing permission)", style="magenta")
    if call.tool == "delegate_task":
        return line
    if call.over:
        style = "dim" if call.status == "ok" else "yellow"
        failed = "" if call.status == "ok" else f"{call.status}: "
        line.append(" → ", style="dim")
        line.append(f"{failed}{one_line(call.result or '', 120)} ", style=style)
        line.append(f"({duration(call.duration_ms / 1000)})", style="dim")
    return line


def _beside(line: Text, right: str, width: int) -> Text:
    """Return the line with a text at its right edge; the line is cut if it must be."""
    room = width - cell_len(right) - (2 if right else 1)
    if cell_len(line.plain) > room:
        line.truncate(max(8, room), overflow="ellipsis")
    if right:
        line.append(" " * max(1, width - 1 - cell_len(line.plain) - cell_len(right)))
        line.append(right, style="dim")
    line.no_wrap = True
    return line


def tail(text: str, width: int, count: int) -> list[str]:
    """Return the last lines of an unfinished text, wrapped; control characters removed."""
    wrapped = textwrap.wrap(one_line(text[-TAIL_CHARACTERS:]), max(10, width))
    return [_fit(line, width) for line in wrapped[-count:]]


def _fit(line: str, width: int) -> str:
    # Wide characters count twice on the screen, and textwrap counts them once.
    return line if cell_len(line) <= width else set_cell_size(line, max(1, width))
