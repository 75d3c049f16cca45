"""`heartbit keys`: API keys of this installation."""

from __future__ import annotations

import sys
from datetime import datetime  # noqa: TC003  typer reads the annotations

import typer

from heartbit_site.cli import options

NAME = typer.Argument(help="Purpose of the key, such as nightly-import.")
PREFIX = typer.Argument(
    help="Beginning of the key: hb_ and ten letters, as `heartbit keys list` shows."
)
SCOPE = typer.Option(
    [],
    "--scope",
    "-s",
    metavar="SCOPE",
    help=(
        "runs:read, runs:write, approvals:decide, agents:read, agents:write, workspace:manage, "
        "audit:read, fleet:manage; may be repeated; default: runs:read and runs:write."
    ),
    show_default=False,
)
EXPIRES = typer.Option(
    None, "--expires", metavar="DATE", help="From then on it is refused; none: in 90 days."
)
FOREVER = typer.Option(
    options.OFF, "--no-expiry", help="Make a key that lasts until it is revoked."
)

keys = typer.Typer(name="keys", rich_markup_mode=None, help="Make, list and revoke API keys.")


@keys.callback(invoke_without_command=True)
def of_keys(context: typer.Context) -> None:
    """Show help when nothing else is asked for."""
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


@keys.command()
def create(
    name: str = NAME,
    *,
    scope: list[str] = SCOPE,
    expires: datetime | None = EXPIRES,
    forever: bool = FOREVER,
    as_json: bool = options.JSON,
) -> None:
    """Make a key and print it, once."""
    from heartbit_site.cli import keys_report as report

    raise typer.Exit(report.create(name, scope, expires=expires, forever=forever, as_json=as_json))


@keys.command(name="list")
def list_keys(*, as_json: bool = options.JSON) -> None:
    """List the keys, without what is secret of them."""
    from heartbit_site.cli import keys_report as report

    raise typer.Exit(report.list_all(as_json=as_json))


@keys.command()
def revoke(prefix: str = PREFIX, *, as_json: bool = options.JSON) -> None:
    """Refuse a key from now on."""
    from heartbit_site.cli import keys_report as report

    raise typer.Exit(report.revoke(prefix, as_json=as_json))


app = keys
