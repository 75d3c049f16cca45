"""`heartbit usage`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options, remote_options


def usage(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """Show what was used today and this month, and what may be."""
    from heartbit_site.cli import activity_report as report

    raise typer.Exit(report.usage(url, as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(usage)
