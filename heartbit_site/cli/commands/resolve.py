"""`heartbit resolve`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.kinds import OUTCOME

RUN = typer.Argument(None, metavar="RUN", help="The run's id, or how it begins; none: all runs.")
CALL = typer.Argument(None, metavar="CALL", help="Resolve this call of the run, e.g. 1.0.")
RETRY = typer.Option(
    options.OFF, "--retry", help="Make the call again: its effect may happen twice."
)
CONFIRM = typer.Option(options.OFF, "--confirm", help="Record that the call took effect.")
RESULT = typer.Option(
    None, "--result", metavar="TEXT", help="With --confirm: result that the model reads."
)
SKIP = typer.Option(
    options.OFF, "--skip", help="Leave the call; the model reads that its outcome is unknown."
)


def resolve(
    run: str | None = RUN,
    call: str | None = CALL,
    *,
    retry: bool = RETRY,
    confirm: bool = CONFIRM,
    result: str | None = RESULT,
    skip: bool = SKIP,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Resolve tool calls whose worker died while they ran.

    Without a run it lists them. On a terminal it then asks, one call after the other.
    """
    from heartbit_site.cli import pending_calls
    from heartbit_site.cli.choices import ResolveOptions

    word = ResolveOptions(retry=retry, confirm=confirm, skip=skip, result=result)
    if run is None and word.choice() is not None:
        raise CommandError("Name the run whose call you resolve: `heartbit resolve` lists.", USAGE)
    raise typer.Exit(pending_calls.answer(OUTCOME, run, call, word, url=url, as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(resolve)
