"""`heartbit runs fork`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.startup import ensure_ready

TURN = typer.Option(
    None, "--turn", "-t", metavar="N", min=0, help="The last turn that is kept; 0: the task alone."
)
MESSAGE = typer.Option("", "--message", metavar="TEXT", help="Tell the next model call this.")
TASK = typer.Option("", "--task", metavar="TEXT", help="Another task.")
CALL = typer.Option("", "--call", metavar="CALL", help="A call of the turn, e.g. 2.0.")
ARGUMENTS = typer.Option(
    None, "--arguments", metavar="JSON", help="Other arguments: all calls of the turn run again."
)
RESULT = typer.Option(None, "--result", metavar="TEXT", help="Another result: nothing runs again.")
VERSION = typer.Option(
    None, "--version", metavar="NUMBER", min=1, help="Another version of the agent."
)
YES = typer.Option(options.OFF, "--yes", "-y", help="Do not ask before effects happen again.")
LOCAL = typer.Option(options.OFF, "--local", help="Run it in this process instead of on the fleet.")


def fork(
    run: str = options.RUN,
    *,
    turn: int | None = TURN,
    message: str = MESSAGE,
    task: str = TASK,
    call: str = CALL,
    arguments: str | None = ARGUMENTS,
    result: str | None = RESULT,
    version: int | None = VERSION,
    yes: bool = YES,
    local: bool = LOCAL,
    url: str | None = remote_options.URL,
    watch: bool = options.WATCH,
    as_json: bool = options.JSON,
    plain: bool = options.PLAIN,
) -> None:
    """Start a new run that continues from a turn of another, with your changes.

    What was done before that turn's end is not done again. With --arguments the turn's calls run
    again, and what they do outside happens again.
    """
    if local and url:
        raise CommandError("--local is this process, --url another machine: choose one.", USAGE)
    from heartbit_site.cli import forking

    order = forking.ForkOptions(
        run=run,
        turn=turn,
        message=message,
        task=task,
        call=call,
        arguments=arguments,
        result=result,
        version=version,
        yes=yes,
    )
    if not local:
        raise typer.Exit(forking.fork(url, order, follow=watch, as_json=as_json, plain=plain))
    ensure_ready("heartbit_site.cli.forking_here")
    from heartbit_site.cli.forking_here import fork_here

    raise typer.Exit(fork_here(order, as_json=as_json, plain=plain))
