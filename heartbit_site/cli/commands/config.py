"""`heartbit config`: check, import and export a configuration file."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003  typer reads the annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.startup import ensure_ready, set_up_django
from heartbit_site.environment import read

FILE = typer.Argument(
    None, metavar="FILE", help="The file; none: HEARTBIT_CONFIG, or heartbit.toml here."
)
CONFIG = typer.Option(None, "--config", "-C", metavar="FILE", help="Another way to give FILE.")
TARGET = typer.Argument("-", metavar="FILE", help="Write to this file; - is standard output.")
PRUNE = typer.Option(
    options.OFF,
    "--prune",
    help="Stop the agents, and pause the schedules, that the file does not name.",
)
FORCE = typer.Option(options.OFF, "--force", help="Replace a file that is there.")

config = typer.Typer(name="config", rich_markup_mode=None, help="Check, import or export a file.")


@config.callback(invoke_without_command=True)
def of_config(context: typer.Context) -> None:
    """Show help when nothing else is asked for."""
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


@config.command()
def check(
    file: Path | None = FILE, *, config: Path | None = CONFIG, as_json: bool = options.JSON
) -> None:
    """Say everything that is wrong with a file; no service is needed."""
    file = _one_of(file, config)
    set_up_django(read())
    from heartbit_site.cli import configure

    raise typer.Exit(configure.check(file, as_json=as_json))


@config.command(name="import")
def import_(
    file: Path | None = FILE,
    *,
    config: Path | None = CONFIG,
    prune: bool = PRUNE,
    as_json: bool = options.JSON,
) -> None:
    """Make the agents and schedules of the installation what a file says."""
    file = _one_of(file, config)
    set_up_django(read())
    from heartbit_site.cli import configure

    configuration = configure.configuration_of(file)
    if configuration is None:
        raise typer.Exit(configure.check(file, as_json=as_json))
    ensure_ready()
    raise typer.Exit(configure.import_(configuration, prune=prune, as_json=as_json))


@config.command()
def export(file: Path = TARGET, *, force: bool = FORCE) -> None:
    """Write the agents and schedules of the installation as a file."""
    ensure_ready("heartbit_site.cli.configure")
    from heartbit_site.cli import configure

    raise typer.Exit(configure.export(file, force=force))


def _one_of(file: Path | None, config: Path | None) -> Path | None:
    if file is not None and config is not None and file != config:
        raise CommandError(
            f"FILE is {file} and --config is {config}: name one configuration file.", USAGE
        )
    return file or config


app = config
