"""Create, authenticate and revoke API keys."""

from __future__ import annotations

import functools
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Model, Q
from django.utils import timezone

from heartbit_site.base.audit import SYSTEM, UNWATCHED, Actor, record_on
from heartbit_site.base.errors import ConfigurationError, ConflictError, ForbiddenError, about
from heartbit_site.base.models import ApiKey, AuditEntry, Workspace
from heartbit_site.base.moments import to_utc
from heartbit_site.base.people import User
from heartbit_site.base.query import fetch_one, instance_of
from heartbit_site.base.rights import require
from heartbit_site.base.scopes import SCOPES, USUAL_DAYS

SECRET_BYTES = 32
PREFIX_BYTES = 5
#: Valid keys of a person, in all workspaces together.
MOST_OF_A_PERSON = 50
USE_NOTED_EVERY = timedelta(minutes=1)


class TooManyKeysError(ConflictError):
    """The person has as many valid keys as a person may have."""


def create_api_key(
    workspace: Workspace,
    name: str,
    *,
    scopes: Iterable[str],
    user: User | None = None,
    expires_at: datetime | None = None,
    by: Actor | None = None,
) -> tuple[ApiKey, str]:
    """Create a key.

    Args:
        workspace: The workspace that the key opens.
        name: Purpose of the key.
        scopes: Names of ``SCOPES``, at least one.
        user: The key's owner; the key ends with the person's account.
        expires_at: End of the key; None for never. The default of all surfaces is
            ``usual_expiry()``.
        by: Author, for the audit; None for ``user`` in the admin, or Heartbit itself.

    Returns:
        The row, and the key in plain text: show it now, it cannot be read again.

    Raises:
        ConfigurationError: A scope is unknown, or there is none; ``expires_at`` is in the past; or
            the name is reserved for runs of schedules or channels.
        TooFarError: ``expires_at`` is out of range.
        TooManyKeysError: The owner has 50 valid keys.
        ForbiddenError: The key is not the author's own, and the author may not manage the
            workspace; or the author does not have a scope, or is a key that was revoked meanwhile.
    """
    owner_id = user.pk if user is not None else None
    enough = _sufficient(by or SYSTEM, owner_id)
    require(by or SYSTEM, *enough, workspace_id=workspace.pk)
    wanted = sorted(set(scopes))
    _refuse_more(by or SYSTEM, wanted)
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        asked = f"cannot have the scope {', '.join(unknown)}" if unknown else "needs a scope"
        raise ConfigurationError(f"An API key {asked}: choose from {', '.join(SCOPES)}.")
    if name.startswith(UNWATCHED):
        kind = name.split(maxsplit=1)[0]
        raise ConfigurationError(
            f"The runs of a {kind} use such names: choose a name that begins with another word."
        )
    with about("expires_at"):
        if expires_at is not None and expires_at <= timezone.now():
            raise ConfigurationError("The key would expire in the past: choose a later time.")
        expires_at = to_utc(expires_at) if expires_at is not None else None
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        if user is not None:
            _refuse_many(user)
        maker = _lock_maker(by.access.key_id) if by and by.access else None
        row = ApiKey.objects.create(
            workspace=workspace,
            user=user,
            name=name,
            prefix=prefix,
            hash=_digest(secret),
            scopes=wanted,
            expires_at=expires_at,
        )
        ends = expires_at.isoformat() if expires_at is not None else None
        details = {"scopes": wanted, "expires_at": ends}
        details |= {"made_with": maker.beginning} if maker is not None else {}
        owner = SYSTEM if user is None else Actor(user.get_username(), "admin", user.pk)
        record_on(by or owner, "api_key.create", row, details=details)
    return row, f"hb_{prefix}_{secret}"


def _sufficient(by: Actor, owner_id: int | None) -> Iterable[str]:
    """Return the scopes of which one is enough: any for one's own key."""
    is_own = by.user_id is not None and by.user_id == owner_id
    return SCOPES if is_own else ("workspace:manage",)


def _refuse_more(by: Actor, scopes: Iterable[str]) -> None:
    more = sorted(set(scopes) - by.access.scopes) if by.access is not None else []
    if more:
        raise ForbiddenError(f"You cannot grant scopes that you do not have: {', '.join(more)}.")


def _lock_maker(key_id: int | None) -> ApiKey | None:
    """Return the key that makes another one; it is not revoked until that one is committed."""
    if key_id is None:
        return None
    maker: ApiKey | None = (
        ApiKey.objects.select_for_update(no_key=True)
        .filter(pk=key_id, revoked_at__isnull=True)
        .first()
    )
    if maker is None:
        raise ForbiddenError("This key was revoked a moment ago: it cannot create another one.")
    return maker


def _refuse_many(user: User) -> None:
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # one key after another is counted
    is_valid = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    count = ApiKey.objects.filter(is_valid, user=user, revoked_at__isnull=True).count()
    if count >= MOST_OF_A_PERSON:
        raise TooManyKeysError(
            f"{user.get_username()} has {count} API keys that are valid, the most that a person "
            "may have: revoke one that is not needed."
        )


def usual_expiry() -> datetime:
    """Return the default expiry of a key that is created now."""
    return timezone.now() + timedelta(days=USUAL_DAYS)


def authenticate_api_key(text: str) -> ApiKey | None:
    """Return the key of a text, with its workspace and user; None if it is unknown or not usable.

    Its last use is recorded at most once a minute, so a busy key costs no write per request.
    """
    parts = _parts(text)
    if parts is None:
        return None
    prefix, secret = parts
    row = _read(prefix)
    known = row.hash if row else ""
    if not hmac.compare_digest(_digest(secret), known) or row is None or not row.usable:
        return None
    _note_use(row)
    return row


def _read(prefix: str) -> ApiKey | None:
    """Return the key with this public part, with its workspace and user.

    Every request reads a key, and Django takes a millisecond more to build the same query.
    """
    query, models = _query()
    values = fetch_one(query, [prefix], prepare=True)
    if values is None:
        return None
    rows: list[Any] = []
    for model in models:
        count = len(model._meta.concrete_fields)
        own, values = values[:count], values[count:]
        rows.append(instance_of(model, own) if own[0] is not None else None)
    key, workspace, user = rows
    key.workspace, key.user = workspace, user
    found: ApiKey = key
    return found


@functools.cache
def _query() -> tuple[str, tuple[type[Model], ...]]:
    """Return the query of a key, its workspace and its user, and the models of its columns."""
    models: tuple[type[Model], ...] = (ApiKey, Workspace, get_user_model())
    key, workspace, user = (model._meta.db_table for model in models)
    columns = [
        f'"{model._meta.db_table}"."{field.column}"'
        for model in models
        for field in model._meta.concrete_fields
    ]
    query = (
        f'SELECT {", ".join(columns)} FROM "{key}"'  # noqa: S608  names of our models
        f' JOIN "{workspace}" ON "{workspace}".id = "{key}".workspace_id'
        f' LEFT JOIN "{user}" ON "{user}".id = "{key}".user_id WHERE "{key}".prefix = %s'
    )
    return query, models


def prefix_of(text: str) -> str | None:
    """Return the public part of a text that has the form of a key, else None."""
    parts = _parts(text)
    return None if parts is None else parts[0]


def _parts(text: str) -> tuple[str, str] | None:
    """Return the public and the secret part; None if the text does not have the form of a key."""
    text = text.strip()
    parts = text.split("_", 2)
    if len(parts) != 3 or parts[0] != "hb" or not text.isascii() or not text.isprintable():
        return None
    return parts[1], parts[2]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _note_use(row: ApiKey) -> None:
    now = timezone.now()
    stale = now - USE_NOTED_EVERY
    if row.last_used_at is not None and row.last_used_at > stale:
        return
    # Only one of many concurrent requests writes.
    due = Q(last_used_at__isnull=True) | Q(last_used_at__lte=stale)
    if ApiKey.objects.filter(due, pk=row.pk).update(last_used_at=now):
        row.last_used_at = now


def revoke_api_keys(ids: Iterable[int], *, by: Actor = SYSTEM) -> int:
    """Refuse keys, and those made with them, from the next request on; return their number.

    Who had a stolen key may have made others with it. Keys that were revoked before do not count.

    Args:
        ids: Ids of the keys.
        by: Author, for the audit.

    Raises:
        ForbiddenError: A key is not the author's own, and the author does not manage its workspace.
    """
    with transaction.atomic():
        keys: list[ApiKey] = []
        next_ids = list(ids)
        while next_ids:
            alive = ApiKey.objects.filter(pk__in=next_ids, revoked_at__isnull=True)
            found = alive.select_for_update(of=("self",)).select_related("workspace").order_by("pk")
            keys += found
            next_ids = [made for key in found for made in _made_with(key)]
        for key in keys:
            require(by, *_sufficient(by, key.user_id), workspace_id=key.workspace_id)
        ApiKey.objects.filter(pk__in=[key.pk for key in keys]).update(revoked_at=timezone.now())
        for key in keys:
            record_on(by, "api_key.revoke", key)
    return len(keys)


def _made_with(key: ApiKey) -> list[int]:
    """Return the ids of the keys that were made with a key, as the audit of their creation says."""
    later = ApiKey.objects.filter(workspace=key.workspace, user=key.user_id, pk__gt=key.pk)
    targets = [f"api_key:{pk}" for pk in later.values_list("pk", flat=True)]
    entries = AuditEntry.objects.filter(
        target__in=targets, action="api_key.create", details__made_with=key.beginning
    )
    return [int(target.rpartition(":")[2]) for target in entries.values_list("target", flat=True)]
