"""`heartbit settle`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.kinds import OUTCOME

RUN = typer.Argument(None, metavar="RUN", help="The run's id, or how it begins; none: all runs.")
CALL = typer.Argument(None, metavar="CALL", help="Which of its calls, e.g. 1.0.")
RETRY = typer.Option(options.OFF, "--retry", help="Make it again: it may happen twice.")
DONE = typer.Option(options.OFF, "--done", help="It took effect.")
RESULT = typer.Option(None, "--result", metavar="TEXT", help="With --done: the model reads it.")
SKIP = typer.Option(options.OFF, "--skip", help="Leave it; the model is told that nobody knows.")


def settle(
    run: str | None = RUN,
    call: str | None = CALL,
    *,
    retry: bool = RETRY,
    done: bool = DONE,
    result: str | None = RESULT,
    skip: bool = SKIP,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Say what became of tool calls whose worker died.

    Without a run it lists them. On a terminal it then asks, one call after the other.
    """
    from heartbit_site.cli import docket
    from heartbit_site.cli.choices import Word

    word = Word(retry=retry, done=done, skip=skip, result=result)
    if run is None and word.choice() is not None:
        raise CommandError("Name the run whose call you settle: `heartbit settle` lists.", USAGE)
    raise typer.Exit(docket.answer(OUTCOME, run, call, word, url=url, as_json=as_json))
