"""`heartbit doctor`."""

from __future__ import annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.shared_options import use_config

CONFIG = typer.Option(
    None,
    "--config",
    "-C",
    metavar="FILE",
    help="Check this configuration; else HEARTBIT_CONFIG, or heartbit.toml here.",
)


def doctor(*, config: str | None = CONFIG, as_json: bool = options.JSON) -> None:
    """Check the installation and say how to mend what is wrong."""
    use_config(config)
    from heartbit_site.cli import doctor as report

    raise typer.Exit(report.doctor(as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(doctor)
