"""`heartbit audit`: verify the chains of changes and decisions."""

from __future__ import annotations

import sys

import typer

from heartbit_site.cli import options, remote_options

audit = typer.Typer(name="audit", rich_markup_mode=None, help="Check the audit's chains.")


@audit.callback(invoke_without_command=True)
def of_audit(context: typer.Context) -> None:
    """Show help when nothing else is asked for."""
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


@audit.command()
def verify(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """Check every entry, and print how each chain ends; exit 1 when one does not hold.

    Entries that were cut off at the end leave a chain that holds: keep the printed numbers and
    hashes elsewhere, and compare.
    """
    from heartbit_site.cli import audit_report as report

    raise typer.Exit(report.verify(url, as_json=as_json))
