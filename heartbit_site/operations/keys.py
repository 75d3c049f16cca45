"""API keys of programs."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from heartbit_site.base.access import Access
from heartbit_site.base.actions.api_keys import create_api_key, revoke_api_keys
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.base.models import ApiKey
from heartbit_site.contract.keys import KeyIn, KeyOut, KeysOut, NewKeyOut
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import find_row, list_page


class KeyNotFoundError(NotFoundError):
    """The workspace has no key with this prefix."""


def list_keys(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> KeysOut:
    """Return the workspace's keys, newest first, revoked ones included; secrets are not stored."""
    rows = ApiKey.objects.filter(workspace=access.workspace).select_related("user")
    return list_page(KeysOut, rows, "-pk", cursor, limit)


def create_key(access: Access, body: KeyIn) -> NewKeyOut:
    """Make a key. It is in this answer only, and ends after 90 days unless `days` differs."""
    end = body.expires_at
    if end is None and body.days is not None:
        end = timezone.now() + timedelta(days=body.days)
    row, key = create_api_key(
        access.workspace,
        body.name,
        scopes=body.scopes,
        user=User.objects.filter(pk=access.user_id).first() if access.user_id else None,
        expires_at=end,
        by=actor_of(access),
    )
    return NewKeyOut.of(row, key=key)


def revoke_key(access: Access, prefix: Word) -> KeyOut:
    """Revoke a key: it is refused from its next request on."""
    # Of a whole key only the public part is looked at, and nothing of it is repeated.
    public = prefix.strip().removeprefix("hb_").partition("_")[0]
    rows = ApiKey.objects.select_related("user")
    missing = KeyNotFoundError(
        "The workspace has no API key with this prefix.", remedy=Remedy("keys.list_keys")
    )
    row = find_row(rows.filter(workspace=access.workspace, prefix=public), missing)
    revoke_api_keys([row.pk], by=actor_of(access))
    row.refresh_from_db(fields=["revoked_at"])
    return KeyOut.of(row)
