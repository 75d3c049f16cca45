"""Accounts of people, in this installation's database.

A password is typed at a prompt or generated: as an argument it would stand in the shell's history
and in the list of processes.
"""

from __future__ import annotations

import getpass
import secrets
from datetime import UTC
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User

from heartbit_site.base.actions.create_user import create_user
from heartbit_site.base.actions.set_password import check_password, find_user, set_password
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Role
from heartbit_site.base.os_user import terminal_user
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.output import note, one_line, write, write_json
from heartbit_site.cli.table import Table
from heartbit_site.cli.times import local_minute
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from collections.abc import Callable

PASSWORD_BYTES = 12
NAME_WIDTH = 40


def list_all(*, as_json: bool) -> int:
    """List all users by name."""
    rows = list(User.objects.order_by("username").prefetch_related("memberships__workspace"))
    if as_json:
        write_json({"users": [_described(row) for row in rows]})
    else:
        USERS.of(rows).print()
    return OK


def create(
    name: str, *, email: str, role: str, superuser: bool, generate: bool, as_json: bool
) -> int:
    """Create a member of the command line's workspace (viewer without a role), or a superuser."""
    workspace = None if superuser else default_workspace()
    role = role or Role.VIEWER.value
    candidate = User(username=name, email=email)
    secret = _secret(generate, lambda typed: check_password(typed, candidate))
    try:
        user = create_user(
            name,
            secret,
            by=terminal_user(),
            email=email,
            superuser=superuser,
            workspace=workspace,
            role=role,
        )
    except ConfigurationError as error:
        raise CommandError(str(error), USAGE) from error
    if workspace is None:
        text = "Created the superuser {}."
    else:
        text = f"Created the user {{}} as {role} in the workspace {workspace.slug}."
    return _done(user, secret, text, generate=generate, as_json=as_json)


def password(name: str, *, generate: bool, as_json: bool) -> int:
    """Set a user's password."""
    user = find_user(name)
    secret = _secret(generate, lambda typed: check_password(typed, user))
    try:
        user = set_password(name, secret, by=terminal_user())
    except ConfigurationError as error:
        raise CommandError(str(error), USAGE) from error
    text = "The user {} has a new password."
    if not user.is_active:
        note(f"The account of {one_line(name)} is closed: an admin has to open it first.")
    return _done(user, secret, text, generate=generate, as_json=as_json)


def _secret(generate: bool, check: Callable[[str], None]) -> str:  # noqa: FBT001
    """Generate a password, or ask for it twice.

    Raises:
        CommandError: There is no terminal to ask at, the two differ, or the password is too weak.
    """
    if generate:
        return secrets.token_urlsafe(PASSWORD_BYTES)
    if not is_interactive():
        raise CommandError(
            "A password is typed at a terminal: add --generate to get a random one.", USAGE
        )
    typed = getpass.getpass("New password: ")
    try:
        check(typed)
    except ConfigurationError as error:
        raise CommandError(str(error), USAGE) from error
    if getpass.getpass("The same again: ") != typed:
        raise CommandError("The two passwords differ: nothing was changed.", USAGE)
    return typed


def _done(user: User, secret: str, text: str, *, generate: bool, as_json: bool) -> int:
    shown = {"password": secret} if generate else {}
    if as_json:
        write_json({**_described(user), **shown})
        return OK
    note(text.format(one_line(user.username)))
    if generate:
        write(secret)
        note("The password is shown only now.")
    return OK


def _state(user: User) -> str:
    return "active" if user.is_active else "closed"


def _rights(user: User) -> list[str]:
    if user.is_superuser:
        return ["superuser"]
    return [f"{member.workspace.slug}: {member.role}" for member in user.memberships.all()]


def _described(user: User) -> dict[str, Any]:
    return {
        "name": user.username,
        "email": user.email,
        "state": _state(user),
        "rights": _rights(user),
        "last_login": user.last_login.astimezone(UTC).isoformat() if user.last_login else None,
    }


USERS = Table[User](
    {
        "USER": lambda user: one_line(user.username, NAME_WIDTH),
        "STATE": _state,
        "RIGHTS": lambda user: ", ".join(_rights(user)) or "none",
        "LAST LOGIN": lambda user: local_minute(user.last_login),
    },
    {"active": "green", "closed": "dim"},
)
