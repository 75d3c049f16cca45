"""Runs as their journals and streams tell them: watched to the end, or as they are. No Django."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.terminal.errors import CANCELLED, OK, WAITING
from heartbit_site.cli.terminal.output import as_json, note, one_line, write, write_json
from heartbit_site.cli.views.outcome import conclude, run_tree, warn_without_worker
from heartbit_site.cli.views.render import Canvas, render
from heartbit_site.cli.views.tree import Tree
from heartbit_site.contract.runs import SHOW_RUN, RunDetailOut

if TYPE_CHECKING:
    from heartbit_site.cli.following.local_runs import LocalStream
    from heartbit_site.cli.following.server_stream import ServerStream


def stream_of(backend: Backend) -> LocalStream | ServerStream:
    """Return the updates that go with a backend."""
    if isinstance(backend, ServerBackend):
        from heartbit_site.cli.following.server_stream import ServerStream  # noqa: PLC0415  httpx is slow

        return ServerStream(backend.server)
    from heartbit_site.cli.following.local_runs import LocalStream  # noqa: PLC0415  needs Django set up

    return LocalStream()


def accepted(backend: Backend, run: RunDetailOut, *, watch: bool, plain: bool) -> int:
    """Print a run that was accepted just now; with ``watch``, stay until it has ended."""
    if watch:
        if not as_json():
            note(f"Run {run.id}")
        _warn_of_wait(backend, run)
        return stay(backend, run, plain=plain)
    if as_json():
        write_json(run_tree(run))
    else:
        write(run.id)
    _warn_of_wait(backend, run)
    return OK


def _warn_of_wait(backend: Backend, run: RunDetailOut) -> None:
    """Say so if a run that was accepted has to wait for Valkey or a worker."""
    warn_without_worker(run)
    if isinstance(backend, ServerBackend):
        return  # the server sends the wake-up
    from heartbit_site.base import enqueue  # noqa: PLC0415  needs Django set up

    if enqueue.is_away():
        note(
            "Valkey cannot be reached, so the run is stored and waits: a worker starts it once "
            "Valkey answers again (`heartbit doctor` says more)."
        )


def stay(backend: Backend, run: RunDetailOut, *, plain: bool, leaves: bool = False) -> int:
    """Show a run's tree until it has ended, then its end. Ctrl-C leaves; the run continues.

    Args:
        backend: Where it is.
        run: Which.
        plain: Write progress as lines.
        leaves: Leave when the tree can only wait for a person, and there is no terminal.
    """
    match stream_of(backend).watch(run.root_id, plain=plain, leaves=leaves):
        case "waits":
            note(
                f"Nobody can be asked here. `heartbit resume {run.id}` then watches the run again."
            )
            return WAITING
        case "left":
            note(
                f"The run goes on: `heartbit status {run.id} --watch`, or "
                f"`heartbit cancel {run.id}`."
            )
            return CANCELLED
        case "ended":
            ended = backend.call(SHOW_RUN, run_id=run.id)
            return conclude(ended, watched=True)


def print_tree(backend: Backend, run: RunDetailOut) -> None:
    """Print a run's id, its task, and its tree as it is now."""
    tree = Tree()
    for update in stream_of(backend).recorded(run.root_id):
        tree.apply(update)
    console = Console(highlight=False)
    head = [f"Run {run.id}", f"Task: {one_line(run.task)}"]
    if run.started_by:
        head.append(f"Started by: {one_line(run.started_by)}")
    canvas = Canvas(console.width, datetime.now(UTC), ascii_only=console.options.ascii_only)
    for line in [*map(Text, head), *render(tree, canvas)]:
        console.print(line, soft_wrap=True)
