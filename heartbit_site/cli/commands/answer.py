"""`heartbit answer`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options

RUN = typer.Argument(None, metavar="RUN", help="The run's id, or how it begins; none: list all.")
ANSWER = typer.Argument(None, metavar="ANSWER", help="The answer as JSON; none: list the run's.")
WAIT = typer.Option(
    "", "--wait", metavar="KEY", help="Answer this one of several waits of the run."
)


def answer(
    run: str | None = RUN,
    text: str | None = ANSWER,
    *,
    wait: str = WAIT,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Answer what else runs wait for.

    That is what waits for a person and is no tool call to approve or resolve. Without an answer it
    is listed.
    """
    from heartbit_site.cli import waits_report as report

    if run is None or text is None:
        raise typer.Exit(report.list_all(url, run, as_json=as_json))
    raise typer.Exit(report.answer(url, run, text, wait, as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(answer)
