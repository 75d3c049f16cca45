"""`heartbit keys`: API keys of a workspace, and a person's own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.base.scopes import SCOPES, USUAL_DAYS
from heartbit_site.base.untrusted import clean_text
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.backend.protocol import Backend, checked
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.output import as_json, note, one_line, write, write_view
from heartbit_site.cli.terminal.table import Table, print_done, print_list
from heartbit_site.contract import members as contract
from heartbit_site.contract.members import KeyIn, KeyOut

NAME = common.argument("NAME", "Purpose of the key, such as nightly-import.")
PREFIX = common.argument(
    "PREFIX", "Beginning of the key: hb_ and ten letters, as `heartbit keys list` shows."
)
SCOPE = common.option(
    "--scope -s SCOPE",
    f"{', '.join(SCOPES)}; may be repeated; default: runs:read and runs:write.",
    [],
)
EXPIRES = common.option("DATE", "Let the key expire on this date; none: in 90 days.", None)
FOREVER = common.flag("--no-expiry", "Make a key that does not expire.")

MINE = common.flag("--mine", "Only your own keys, within your role, for the workspace of the key.")
AS = common.option("--as USERNAME", "Act for this member and their own keys, in this installation.")

NAME_CHARACTERS: Final = 100
app = common.group_without_default()


@app.command(cls=RemoteCommand)
def create(
    name: str = NAME,
    *,
    scope: list[str] = SCOPE,
    expires: datetime | None = EXPIRES,
    forever: bool = FOREVER,
    username: str = AS,
) -> int:
    """Make a key and print it, once.

    A key cannot create keys of its person: people use the page Account, or --as here.
    """
    given = _given(name, scope, expires, forever=forever)
    server = _backend(username)
    made = server.call(contract.CREATE_OWN_KEY if username else contract.CREATE_KEY, given)
    if as_json():
        write_view(made)
        return OK
    write(made.key)
    note("The key is shown only now: put it into HEARTBIT_API_KEY where it is used.")
    if not scope:
        note(f"It has the scopes {' and '.join(made.scopes)} only; --scope names others.")
    if not forever and expires is None:
        note(f"It ends in {USUAL_DAYS} days; --expires and --no-expiry say otherwise.")
    return OK


@app.command(name="list", cls=RemoteCommand)
def list_keys(*, mine: bool = MINE, username: str = AS) -> int:
    """List the keys, without their secret parts."""
    server = _backend(username, reads_only=True)
    own = mine or bool(username)
    return print_list(server.every(contract.LIST_OWN_KEYS if own else contract.LIST_KEYS), KEYS)


@app.command(cls=RemoteCommand)
def revoke(prefix: str = PREFIX, *, username: str = AS) -> int:
    """Refuse a key, and those that it made, from now on."""
    server = _backend(username)
    operation = contract.REVOKE_OWN_KEY if username else contract.REVOKE_KEY
    ended = server.call(operation, prefix=clean_text(prefix))
    return print_done(ended, f"The key {ended.prefix} ({one_line(ended.name)}) is revoked.")


def _backend(username: str, *, reads_only: bool = False) -> Backend:
    server = backend(reads_only=reads_only)
    if username:
        server.act_for(username)
    return server


def _given(name: str, scopes: Sequence[str], expires: datetime | None, *, forever: bool) -> KeyIn:
    label = one_line(name)
    if not label or len(label) > NAME_CHARACTERS:
        raise UsageError(f"A key's name has 1 to {NAME_CHARACTERS} characters.")
    unknown = [one_line(scope) for scope in scopes if scope not in SCOPES]
    if unknown:
        raise UsageError(f"{', '.join(unknown)} is no scope; choose from {', '.join(SCOPES)}.")
    if forever and expires is not None:
        raise UsageError("--expires and --no-expiry contradict each other: give one.")
    given: dict[str, Any] = {"name": label}
    if scopes:
        given["scopes"] = sorted(set(scopes))
    if forever:
        given["days"] = None
    if expires is not None:
        given["expires_at"] = _aware(expires).isoformat()
    return checked(KeyIn, given)


def _aware(expires: datetime) -> datetime:
    try:
        return to_utc(expires.astimezone())
    except (OverflowError, ValueError) as error:  # before it could be asked
        said = error if isinstance(error, TooFarError) else TooFarError("The time is out of range.")
        raise UsageError(f"--expires: {said}") from None


KEYS: Final = Table.of(
    KeyOut,
    "KEY=prefix STATE NAME=name:40 LAST_USED=last_used_at|never SCOPES",
    styles={"active": "green", "revoked": "dim", "expired": "dim"},
    none="No API keys yet: `heartbit keys create NAME` makes one.",
)
