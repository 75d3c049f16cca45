"""`heartbit runs`: the list, one of them, and what an operator does with them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from heartbit_site.base.amounts import counted
from heartbit_site.cli.backend.chosen import backend, call
from heartbit_site.cli.commands.fork import fork
from heartbit_site.cli.following.streams import print_run
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import ChangeHereCommand, RemoteCommand
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.new_file import write_file
from heartbit_site.cli.terminal.output import as_json, note, write, write_exactly, write_json
from heartbit_site.cli.terminal.table import print_done
from heartbit_site.cli.views.outcome import NO_RUNS, print_runs
from heartbit_site.cli.views.turn_text import print_turn
from heartbit_site.contract.runs import (
    DISCARD_RUN,
    LIST_RUNS,
    RELEASE_RUN,
    RETRY_RUN,
    SHOW_RUN,
    STEER_RUN,
    UNQUARANTINE_RUN,
    RunStateOut,
    Status,
)
from heartbit_site.contract.turns import SHOW_TURN

if TYPE_CHECKING:
    from agents.housekeeping.archive_runs import Archived

AGENT = common.option("--agent -a NAME", "List only runs of this agent.")
STATUS = common.option("--status -s", "List only runs in this state.", None)
SEARCH = common.option(
    "--search -q WORDS",
    "Only those with these words in task, answer or error, or whose id begins so.",
    "",
)
OLDER = common.option(
    "--older-than DAYS",
    "Set the age; none: the workspace's policy.",
    None,
    min=0,
)
DRY = common.flag("--dry-run", "Only print what would be archived.")
TURN = common.option("--turn -t N", "Show this model call: its request and answer.", None, min=1)
CASSETTE = common.option(
    "--cassette FILE",
    "Write only the model's answers, to be replayed in tests, into this file.",
    None,
)
TEXT = common.argument("TEXT", "The message.")
HELD = common.flag("--held", "List only runs that are held since a restore.")
ALL_HELD = common.flag("--all", "Release all held runs of the workspace.")
ONE = common.argument("[RUN]", "The run's id, or its first characters.", None)
FORCE = common.flag("--force", "Replace an existing file.")

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_runs(
    *,
    agent: str = AGENT,
    status: Status | None = STATUS,
    search: str = SEARCH,
    held: bool = HELD,
    last: int = common.LAST,
) -> int:
    """List the last runs, the newest first."""
    # Runs that people started; of a named agent, also those it did as a sub-agent.
    found = call(
        LIST_RUNS,
        limit=last,
        agent=agent or None,
        status=status,
        text=search or None,
        children=bool(agent) or None,
        held=held or None,
        reads_only=True,
    )
    filtered = agent or status or search or held
    return print_runs(found.runs, none="No such runs." if filtered else NO_RUNS)


app.command(cls=RemoteCommand)(fork)


@app.command(cls=RemoteCommand)
def show(run: str = common.RUN, *, turn: int | None = TURN) -> int:
    """Show a run: its tree, calls, decisions, cost and result; or one turn of it."""
    server, run_id = backend(), common.run_id_of(run)
    if turn is not None:
        return print_turn(server.call(SHOW_TURN, run_id=run_id, number=turn))
    return print_run(server, server.call(SHOW_RUN, run_id=run_id))


@app.command(cls=RemoteCommand)
def retry(run: str = common.RUN) -> int:
    """Repeat the task of an ended run, as a new run on the same version.

    A quarantined run is discarded with it.
    """
    found = call(RETRY_RUN, run_id=common.run_id_of(run))
    return _print_live(found, found.id)


@app.command(cls=RemoteCommand)
def steer(run: str = common.RUN, text: str = TEXT) -> int:
    """Send a message to a run that has not ended: the agent reads it before its next step."""
    found = call(STEER_RUN, {"text": text}, run_id=common.run_id_of(run))
    return print_done(found, f"Run {found.id} gets the message before its next step.")


@app.command(cls=RemoteCommand)
def unquarantine(run: str = common.RUN) -> int:
    """Resume a quarantined run where it was, in a process of its own."""
    found = call(UNQUARANTINE_RUN, run_id=common.run_id_of(run))
    return _print_live(found, f"Run {found.id} continues where it was, alone in a process.")


@app.command(cls=RemoteCommand)
def discard(run: str = common.RUN) -> int:
    """Discard a quarantined run: it is cancelled, and its journal stays."""
    found = call(DISCARD_RUN, run_id=common.run_id_of(run))
    return print_done(found, f"Run {found.id} is discarded.")


@app.command(cls=RemoteCommand)
def release(run: str | None = ONE, *, everything: bool = ALL_HELD) -> int:
    """Let a run continue that is held since a restore, with all of its tree.

    The run was in flight in the backup, and may have continued elsewhere since: check its effects
    first. `heartbit runs list --held` lists such runs; `heartbit cancel` ends one.
    """
    server = backend()
    if everything == (run is not None):
        raise UsageError("Name one run, or add --all: `heartbit runs list --held` lists them.")
    if run is not None:
        found = server.call(RELEASE_RUN, run_id=common.run_id_of(run))
        return print_done(found, f"Run {found.id} continues.")
    ids = [row.id for row in server.every(LIST_RUNS, held=True).runs]
    for run_id in ids:
        server.call(RELEASE_RUN, run_id=run_id)
    if as_json():
        write_json({"released": ids})
    else:
        write(f"{counted(len(ids), 'run')} released." if ids else "No run is held.")
    return OK


def _print_live(run: RunStateOut, sentence: str) -> int:
    """Print a run that is live now; of a local one also the command that executes it."""
    print_done(run, sentence)
    if run.placement == "local" and not as_json():
        note(f"It is a local run: `heartbit resume {run.id}` where it began continues it.")
    return OK


@app.command(cls=ChangeHereCommand)
def archive(*, days: int | None = OLDER, dry_run: bool = DRY) -> int:
    """Write runs that ended long ago into files, and delete them from the database.

    A worker does so every hour by the workspace's policy.
    """
    ensure_ready("agents.housekeeping.archive_runs")
    from agents.housekeeping.archive_runs import archive_workspace, count_archivable, directory
    from heartbit_site.first_start import default_workspace

    workspace = default_workspace()
    if dry_run:
        done = count_archivable(workspace, days=days)
    else:
        done = archive_workspace(workspace, days=days, said=_note_progress)
    if as_json():
        write_json({**asdict(done), "files": [str(path) for path in done.files]})
        return OK
    if dry_run:
        write(f"{_counted(done)} would go into {directory()} and leave the database.")
        return OK
    if done.files:
        write(f"{_counted(done)} left the database; they are in:")
        for path in done.files:
            write(f"  {path}")
    else:
        write("Nothing is old enough.")
    if done.kept:
        write(f"{done.kept} runs changed meanwhile and stay.")
    return OK


@app.command()
def export(run: str = common.RUN, *, cassette: Path | None = CASSETTE, force: bool = FORCE) -> int:
    """Write a run with its sub-agents to stdout, one JSON object a run, as an archive holds it.

    A cassette has only the tasks and the model's answers: no prompts, no results of tools, no keys.
    """
    ensure_ready("agents.runs.archive")
    if cassette is not None:
        from heartbit_site.cli.backend.chosen import backend_for
        from heartbit_site.cli.backend.recording import cassette_of

        text = cassette_of(backend_for(""), common.run_id_of(run)).model_dump_json(indent=1)
        write_file(cassette, f"{text}\n".encode(), force=force)
        note(f"Wrote {cassette}.")
        return OK
    from agents.querysets import find_any_run
    from agents.runs.archive import tree_lines
    from heartbit_site.first_start import default_workspace

    found = find_any_run(default_workspace(), run)
    for line in tree_lines([found.root_id]):
        write_exactly(f"{line}\n")
    return OK


def _note_progress(done: Archived) -> None:
    note(f"{_counted(done)} archived so far ...")


def _counted(found: Archived) -> str:
    runs, threads = counted(found.runs, "run"), counted(found.conversations, "conversation")
    return f"{runs} and {threads}" if found.conversations else runs
