"""`heartbit users`: accounts of people in this installation."""

from __future__ import annotations

import sys

import typer

from heartbit_site.cli import options
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.invocation import INVOCATION
from heartbit_site.cli.startup import ensure_ready

MODULE = "heartbit_site.cli.accounts"
NAME = typer.Argument(help="The name that the person logs in with.")
EMAIL = typer.Option("", "--email", metavar="ADDRESS", help="Send mails there.", show_default=False)
ROLE = typer.Option(
    "",
    "--role",
    "-r",
    metavar="ROLE",
    help="Add the person to the workspace as viewer (the default), operator, editor or admin.",
    show_default=False,
)
SUPERUSER = typer.Option(
    options.OFF, "--superuser", help="Give every right in every workspace, and the fleet."
)
GENERATE = typer.Option(
    options.OFF, "--generate", "-g", help="Generate the password and print it; else ask for it."
)

users = typer.Typer(
    name="users", rich_markup_mode=None, help="List and create users, and set their passwords."
)


@users.callback(invoke_without_command=True)
def of_users(context: typer.Context) -> None:
    """Show help without a subcommand."""
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


@users.command(name="list")
def list_users(*, as_json: bool = options.JSON) -> None:
    """List the users with their roles and last logins."""
    ensure_ready(MODULE)
    from heartbit_site.cli import accounts

    raise typer.Exit(accounts.list_all(as_json=as_json))


@users.command()
def create(
    name: str = NAME,
    *,
    email: str = EMAIL,
    role: str = ROLE,
    superuser: bool = SUPERUSER,
    generate: bool = GENERATE,
    as_json: bool = options.JSON,
) -> None:
    """Create a member of one workspace, or a superuser; asks for the password, or generates it.

    Raises:
        CommandError: A superuser is given a role or a workspace.
    """
    if superuser and (role or INVOCATION.workspace):
        raise CommandError(
            "--superuser gives every right in every workspace: leave out --role and --workspace.",
            USAGE,
        )
    ensure_ready(MODULE)
    from heartbit_site.cli import accounts

    raise typer.Exit(
        accounts.create(
            name,
            email=email,
            role=role,
            superuser=superuser,
            generate=generate,
            as_json=as_json,
        )
    )


@users.command()
def password(name: str = NAME, *, generate: bool = GENERATE, as_json: bool = options.JSON) -> None:
    """Set a new password; the person's sessions end."""
    ensure_ready(MODULE)
    from heartbit_site.cli import accounts

    raise typer.Exit(accounts.password(name, generate=generate, as_json=as_json))


app = users
