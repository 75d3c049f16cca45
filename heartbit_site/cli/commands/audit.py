"""`heartbit audit`: who changed and decided what, and whether somebody tampered with it."""

from __future__ import annotations

import sys

import typer

from heartbit_site.cli import options
from heartbit_site.cli.begin import begin

audit = typer.Typer(name="audit", rich_markup_mode=None, help="Check the audit's chains.")


@audit.callback(invoke_without_command=True)
def of_audit(context: typer.Context) -> None:
    """Show help when nothing else is asked for."""
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


@audit.command()
def verify(*, as_json: bool = options.JSON) -> None:
    """Check every entry, and print how each chain ends; exit 1 when one does not hold.

    Entries that were cut off at the end leave a chain that holds: keep the printed numbers and
    hashes elsewhere, and compare.
    """
    begin("heartbit_site.cli.audit_report")
    from heartbit_site.cli import audit_report as report

    raise typer.Exit(report.verify(as_json=as_json))
