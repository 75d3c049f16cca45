"""`heartbit resume`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.startup import ensure_ready


def resume(
    run: str = options.RUN, *, as_json: bool = options.JSON, plain: bool = options.PLAIN
) -> None:
    """Resume a run whose process has ended.

    A run of `heartbit run` resumes in this process; a run on the fleet is watched. A quarantined
    run resumes as well, in a process of its own. Without a terminal, a run that waits for a person
    is left, and the command that decides is named (exit code 4).
    """
    ensure_ready("heartbit_site.cli.resumption")
    from heartbit_site.cli import resumption

    raise typer.Exit(resumption.resume(run, as_json=as_json, plain=plain))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(resume)
