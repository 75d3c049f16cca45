"""`heartbit users`: accounts of people, in this installation's database.

A password is typed at a prompt or generated: as an argument it would stand in the shell's history
and in the list of processes.
"""

from __future__ import annotations

import getpass
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import ChangeHereCommand, PrintingCommand
from heartbit_site.cli.terminal import output
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.table import Table
from heartbit_site.cli.terminal.times import local_minute

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace

PASSWORD_BYTES: Final = 12

NAME = common.argument("NAME", "The name that the person logs in with.")
EMAIL = common.option("ADDRESS", "Send mails there.")
ROLE = common.option(
    "--role -r ROLE",
    "Add the person to the workspace as viewer (the default), operator, editor or admin.",
)
SUPERUSER = common.flag("--superuser", "Give every right in every workspace, and the fleet.")
GENERATE = common.flag("--generate -g", "Generate the password and print it; else ask for it.")

app = common.group_without_default()


@app.command(name="list", cls=PrintingCommand)
def list_users() -> int:
    """List the users with their roles and last logins."""
    ensure_ready(reads_only=True)
    from django.contrib.auth.models import User

    rows = list(User.objects.order_by("username").prefetch_related("memberships__workspace"))
    if output.as_json():
        output.write_json({"users": [_described(row) for row in rows]})
    else:
        USERS.print(rows)
    return OK


@app.command(cls=ChangeHereCommand)
def create(
    name: str = NAME,
    *,
    email: str = EMAIL,
    role: str = ROLE,
    superuser: bool = SUPERUSER,
    generate: bool = GENERATE,
) -> int:
    """Create a member of one workspace, or a superuser; asks for the password, or generates it."""
    if superuser and (role or output.INVOCATION.workspace):
        raise UsageError(
            "--superuser gives every right in every workspace: leave out --role and --workspace."
        )
    ensure_ready("heartbit_site.base.actions.users")
    from django.contrib.auth.models import User

    from heartbit_site.base.actions.members import check_role
    from heartbit_site.base.actions.users import create_user
    from heartbit_site.base.models import Role
    from heartbit_site.base.os_user import terminal_user
    from heartbit_site.first_start import default_workspace

    workspace = None if superuser else default_workspace()
    role = role or Role.VIEWER.value
    with _refused_as_usage():
        check_role(role)  # before the password is asked for
        secret = _secret(User(username=name, email=email), generate=generate)
        user = create_user(
            name,
            secret,
            by=terminal_user(),
            email=email,
            superuser=superuser,
            workspace=workspace,
            role=role,
        )
    return _done(user, secret, _created(user, role, workspace), generate=generate)


def _created(user: User, role: str, workspace: Workspace | None) -> str:
    shown = output.one_line(user.username)
    if workspace is None:
        return f"Created the superuser {shown}."
    return f"Created the user {shown} as {role} in the workspace {workspace.slug}."


@app.command(cls=ChangeHereCommand)
def password(name: str = NAME, *, generate: bool = GENERATE) -> int:
    """Set a new password; the person's sessions end."""
    ensure_ready("heartbit_site.base.actions.users")
    from heartbit_site.base.actions.users import find_user, set_password
    from heartbit_site.base.os_user import terminal_user

    user = find_user(name)
    with _refused_as_usage():
        secret = _secret(user, generate=generate)
        user = set_password(name, secret, by=terminal_user())
    if not user.is_active:
        output.note(
            f"The account of {output.one_line(name)} is closed: an admin has to open it first."
        )
    text = f"The user {output.one_line(user.username)} has a new password."
    return _done(user, secret, text, generate=generate)


@contextmanager
def _refused_as_usage() -> Iterator[None]:
    """Let what the rules for accounts refuse be a mistake of the command line."""
    try:
        yield
    except ConfigurationError as error:
        raise UsageError(str(error)) from error


def _secret(user: User, *, generate: bool) -> str:
    """Generate a user's password, or ask for it twice.

    Raises:
        CommandError: There is no terminal to ask at, or the two differ.
        PasswordError: The password is too weak.
    """
    if generate:
        return secrets.token_urlsafe(PASSWORD_BYTES)
    if not is_interactive():
        raise UsageError("A password is typed at a terminal: add --generate to get a random one.")
    from heartbit_site.base.actions.users import check_password

    typed = getpass.getpass("New password: ")
    check_password(typed, user)
    if getpass.getpass("The same again: ") != typed:
        raise UsageError("The two passwords differ: nothing was changed.")
    return typed


def _done(user: User, secret: str, text: str, *, generate: bool) -> int:
    if output.as_json():
        output.write_json({**_described(user), **({"password": secret} if generate else {})})
        return OK
    output.note(text)
    if generate:
        output.write(secret)
        output.note("The password is shown only now.")
    return OK


def _described(user: User) -> dict[str, Any]:
    members = user.memberships.all()
    rights = [f"{member.workspace.slug}: {member.role}" for member in members]
    return {
        "name": user.username,
        "email": user.email,
        "state": "active" if user.is_active else "closed",
        "rights": ["superuser"] if user.is_superuser else rights,
        "last_login": user.last_login.astimezone(UTC).isoformat() if user.last_login else None,
    }


USERS: Final[Table[User]] = Table(
    {
        "USER": lambda user: output.one_line(user.username, output.NAME_WIDTH),
        "STATE": lambda user: _described(user)["state"],
        "RIGHTS": lambda user: ", ".join(_described(user)["rights"]) or "none",
        "LAST LOGIN": lambda user: local_minute(user.last_login),
    },
    {"active": "green", "closed": "dim"},
)
