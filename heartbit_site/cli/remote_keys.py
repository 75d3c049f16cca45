"""The API keys that remote commands are let in with, in this installation's database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from heartbit_site.base.actions.create_api_key import USUAL_LIFE, create_api_key, usual_expiry
from heartbit_site.base.actions.revoke_api_key import revoke_api_keys
from heartbit_site.base.errors import ConfigurationError, NotFoundError
from heartbit_site.base.models import ApiKey
from heartbit_site.base.models.api_key import USUAL_SCOPES
from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.cli.deciding import actor
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.output import note, one_line, write, write_json
from heartbit_site.cli.table import print_table
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME_CHARACTERS = 100
STYLES = {"active": "green", "revoked": "dim", "expired": "dim"}


class KeyNotFoundError(NotFoundError):
    """There is no API key that begins like this."""


def create(
    name: str,
    scopes: Sequence[str],
    *,
    expires: datetime | None,
    forever: bool = False,
    as_json: bool,
) -> int:
    """Make a key; it goes to stdout and nowhere else."""
    label = one_line(name)
    if not label or len(label) > NAME_CHARACTERS:
        raise CommandError(f"A key's name has 1 to {NAME_CHARACTERS} characters.", USAGE)
    if forever and expires is not None:
        raise CommandError("--expires and --no-expiry contradict each other: give one.", USAGE)
    until = _aware(expires) if expires is not None else None
    if until is not None and until <= timezone.now():
        raise CommandError("--expires is in the past: the key would open nothing.", USAGE)
    try:
        row, key = create_api_key(
            default_workspace(),
            label,
            scopes=scopes or USUAL_SCOPES,
            expires_at=until or (None if forever else usual_expiry()),
            by=actor(),
        )
    except ConfigurationError as error:
        raise CommandError(str(error), USAGE) from error
    if as_json:
        write_json({**_described(row), "key": key})
        return OK
    write(key)
    note("The key is shown only now: put it into HEARTBIT_API_KEY where it is used.")
    if not scopes:
        note(f"It has the scopes {' and '.join(row.scopes)} only; --scope names others.")
    if not forever and until is None:
        note(f"It ends in {USUAL_LIFE.days} days; --expires and --no-expiry say otherwise.")
    return OK


def _aware(expires: datetime) -> datetime:
    try:
        return to_utc(expires.astimezone())
    except (OverflowError, ValueError) as error:  # before it could be asked
        said = error if isinstance(error, TooFarError) else TooFarError("The time is too far away.")
        raise CommandError(f"--expires: {said}", USAGE) from None


def list_all(*, as_json: bool) -> int:
    """All keys, the newest first."""
    rows = list(ApiKey.objects.filter(workspace=default_workspace()))
    if as_json:
        write_json({"keys": [_described(row) for row in rows]})
    elif not rows:
        write("No API keys yet: `heartbit keys create NAME` makes one.")
    else:
        head = ("KEY", "STATE", "NAME", "LAST USED", "SCOPES")
        print_table(head, [_cells(row) for row in rows], styles=STYLES)
    return OK


def revoke(prefix: str, *, as_json: bool) -> int:
    """Refuse one key from its next request on.

    Raises:
        KeyNotFoundError: No key begins like this.
    """
    # Of a whole key only the public part is looked at, and nothing of it is repeated.
    wanted = prefix.strip().removeprefix("hb_").partition("_")[0]
    rows = ApiKey.objects.filter(workspace=default_workspace(), prefix=wanted.replace("\x00", ""))
    row = rows.first()
    if row is None:
        raise KeyNotFoundError("No API key begins like this: `heartbit keys list` shows them.")
    revoke_api_keys([row.pk], by=actor())
    row.refresh_from_db()
    if as_json:
        write_json(_described(row))
    else:
        write(f"The key hb_{row.prefix} ({one_line(row.name)}) is revoked.")
    return OK


def _cells(row: ApiKey) -> tuple[str, ...]:
    used = row.last_used_at.astimezone().strftime("%Y-%m-%d %H:%M") if row.last_used_at else "never"
    scopes = ", ".join(row.scopes)
    return f"hb_{row.prefix}", _state(row), one_line(row.name, 40), used, scopes


def _state(row: ApiKey) -> str:
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expired else "active"


def _described(row: ApiKey) -> dict[str, Any]:
    return {
        "prefix": f"hb_{row.prefix}",
        "name": row.name,
        "scopes": row.scopes,
        "state": _state(row),
        "created_at": _time(row.created_at),
        "expires_at": _time(row.expires_at),
        "last_used_at": _time(row.last_used_at),
    }


def _time(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat() if value else None
