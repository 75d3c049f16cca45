"""Results of `heartbit keys`: the API keys of this installation. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.base.scopes import SCOPES, USUAL_DAYS
from heartbit_site.base.untrusted import clean_text
from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.output import note, one_line, write, write_view
from heartbit_site.cli.table import Table, print_done, print_list
from heartbit_site.cli.times import local_minute
from heartbit_site.contract import keys as contract
from heartbit_site.contract.keys import KeyIn, KeyOut

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

NAME_CHARACTERS: Final = 100
NAME_WIDTH: Final = 40
#: The option --url of no server: the command line of a server makes its keys.
HERE: Final = ""


def create(
    name: str, scopes: Sequence[str], *, expires: datetime | None, forever: bool, as_json: bool
) -> int:
    """Make a key; it goes to stdout and nowhere else."""
    given = _given(name, scopes, expires, forever=forever)
    made = backend_for(HERE).call(contract.CREATE_KEY, given)
    if as_json:
        write_view(made)
        return OK
    write(made.key)
    note("The key is shown only now: put it into HEARTBIT_API_KEY where it is used.")
    if not scopes:
        note(f"It has the scopes {' and '.join(made.scopes)} only; --scope names others.")
    if not forever and expires is None:
        note(f"It ends in {USUAL_DAYS} days; --expires and --no-expiry say otherwise.")
    return OK


def list_all(*, as_json: bool) -> int:
    """Print all keys, the newest first."""
    found = backend_for(HERE).every(contract.LIST_KEYS)
    none = "No API keys yet: `heartbit keys create NAME` makes one."
    return print_list(found, KEYS.of(found.keys), none=none, as_json=as_json)


def revoke(prefix: str, *, as_json: bool) -> int:
    """Refuse one key from its next request on.

    Raises:
        NotFoundError: No key begins like this.
    """
    ended = backend_for(HERE).call(contract.REVOKE_KEY, prefix=clean_text(prefix))
    sentence = f"The key {ended.prefix} ({one_line(ended.name)}) is revoked."
    return print_done(ended, sentence, as_json=as_json)


def _given(name: str, scopes: Sequence[str], expires: datetime | None, *, forever: bool) -> KeyIn:
    label = one_line(name)
    if not label or len(label) > NAME_CHARACTERS:
        raise CommandError(f"A key's name has 1 to {NAME_CHARACTERS} characters.", USAGE)
    unknown = [one_line(scope) for scope in scopes if scope not in SCOPES]
    if unknown:
        raise CommandError(
            f"{', '.join(unknown)} is no scope; choose from {', '.join(SCOPES)}.", USAGE
        )
    if forever and expires is not None:
        raise CommandError("--expires and --no-expiry contradict each other: give one.", USAGE)
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
        said = error if isinstance(error, TooFarError) else TooFarError("The time is too far away.")
        raise CommandError(f"--expires: {said}", USAGE) from None


KEYS: Final = Table[KeyOut](
    {
        "KEY": lambda key: key.prefix,
        "STATE": lambda key: key.state,
        "NAME": lambda key: one_line(key.name, NAME_WIDTH),
        "LAST USED": lambda key: local_minute(key.last_used_at),
        "SCOPES": lambda key: ", ".join(key.scopes),
    },
    {"active": "green", "revoked": "dim", "expired": "dim"},
)
