"""`heartbit users`: accounts of people, in this installation or at a server.

A password is typed at a prompt, generated, or read from standard input: as an argument it would
stand in the shell's history and in the list of processes.
"""

from __future__ import annotations

import getpass
import secrets
from typing import Any, Final

from heartbit_site.base.untrusted import clean_text
from heartbit_site.cli.backend.chosen import backend, call, print_all
from heartbit_site.cli.backend.protocol import checked
from heartbit_site.cli.options import common
from heartbit_site.cli.options.secret_entry import first_line
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.terminal import output
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import users as contract

PASSWORD_BYTES: Final = 12

NAME = common.argument("NAME", "The name that the person logs in with.")
EMAIL = common.option("ADDRESS", "Send mails there.")
ROLE = common.option(
    "--role -r ROLE",
    "Add the person to the workspace as viewer (the default), operator, editor or admin.",
)
SUPERUSER = common.flag("--superuser", "Give every right in every workspace, and the fleet.")
GENERATE = common.flag("--generate -g", "Generate the password and print it; else ask for it.")
STDIN = common.flag("--password-stdin", "Read the password from standard input.")

app = common.group_without_default()


@app.command(name="list", cls=RemoteCommand)
def list_users() -> int:
    """List the users with their roles and last logins."""
    return print_all(contract.LIST_USERS, USERS, reads_only=True)


@app.command(cls=RemoteCommand)
def create(
    name: str = NAME,
    *,
    email: str = EMAIL,
    role: str = ROLE,
    superuser: bool = SUPERUSER,
    generate: bool = GENERATE,
    password_stdin: bool = STDIN,
) -> int:
    """Create a member of one workspace, or a superuser; asks for the password unless given one."""
    if superuser and (role or output.INVOCATION.workspace):
        raise UsageError(
            "--superuser gives every right in every workspace: leave out --role and --workspace."
        )
    given: dict[str, Any] = {"name": name, "email": email, "superuser": superuser}
    given |= {"role": role} if role else {}
    checked(contract.UserIn, {**given, "password": "x"})  # before the password is asked for
    secret = _secret(generate=generate, from_stdin=password_stdin)
    made = call(contract.CREATE_USER, {**given, "password": secret})
    shown = output.one_line(made.name)
    if superuser:
        said = f"Created the superuser {shown}."
    else:
        slug, _, given_role = made.rights[0].partition(": ")
        said = f"Created the user {shown} as {given_role} in the workspace {slug}."
    return _done(made, secret, said, generate=generate)


@app.command(cls=RemoteCommand)
def password(name: str = NAME, *, generate: bool = GENERATE, password_stdin: bool = STDIN) -> int:
    """Set a new password; the person's sessions end."""
    server = backend()
    secret = _secret(generate=generate, from_stdin=password_stdin)
    user = server.call(contract.SET_PASSWORD, {"password": secret}, account=clean_text(name))
    if user.state == "closed":
        output.note(
            f"The account of {output.one_line(name)} is closed: an admin has to open it first."
        )
    text = f"The user {output.one_line(user.name)} has a new password."
    return _done(user, secret, text, generate=generate)


def _secret(*, generate: bool, from_stdin: bool) -> str:
    """Generate a password, read it from standard input, or ask for it twice.

    Raises:
        CommandError: There is no terminal to ask at, the two differ, or the options contradict.
    """
    if generate and from_stdin:
        raise UsageError("Say one of --generate and --password-stdin.")
    if from_stdin:
        return first_line("password")
    if generate:
        return secrets.token_urlsafe(PASSWORD_BYTES)
    if not is_interactive():
        raise UsageError(
            "There is no terminal to ask at: add --password-stdin, or --generate for a random one."
        )
    typed = getpass.getpass("New password: ")
    if getpass.getpass("The same again: ") != typed:
        raise UsageError("The two passwords differ: nothing was changed.")
    return typed


def _done(user: contract.UserOut, secret: str, text: str, *, generate: bool) -> int:
    if output.as_json():
        output.write_view(user, **({"password": secret} if generate else {}))
        return OK
    output.note(text)
    if generate:
        output.write(secret)
        output.note("The password is shown only now.")
    return OK


USERS: Final = Table.of(
    contract.UserOut,
    "USER=name:40 STATE RIGHTS=rights|none LAST_LOGIN=last_login|-",
    styles={"active": "green", "closed": "dim"},
)
