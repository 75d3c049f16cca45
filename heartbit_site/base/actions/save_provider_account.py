"""Save an account with a provider, and its key encrypted."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from heartbit_site.base import audit, secrets
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import ProviderAccount

HINT_LENGTH = 4
HINTED_FROM = 16  # four characters would reveal too much of a shorter key
_SAID = (
    *("provider", "label", "base_url", "enabled"),
    *("requests_per_minute", "tokens_per_minute"),
)

#: Columns that decide where the key is sent, in words.
_ADDRESS = {"workspace_id": "workspace", "provider": "provider", "base_url": "base URL"}


def save_provider_account(
    account: ProviderAccount, *, key: str | None = None, by: Actor = SYSTEM
) -> None:
    """Write the account's row and, in the same transaction, its key.

    Args:
        account: New or changed, already validated.
        key: The new key; empty for none. None keeps the present one.
        by: Author, for the audit, which records that the key changed and never the key.

    Raises:
        ConfigurationError: The key has characters that no key has; or the account now leads
            elsewhere and its key was not entered again.
    """
    if key is not None:
        key = check_key(key)
    with transaction.atomic():
        before = ProviderAccount.objects.select_for_update().filter(pk=account.pk).first()
        moved = _moved(before, account) if before is not None else []
        if moved and account.secret and key is None:
            raise ConfigurationError(
                f"Enter the key of the account {account} again: {' and '.join(moved)} changed, and "
                "a key is only sent where it was entered for."
            )
        if moved or key is not None:
            account.healthy, account.health_message, account.checked_at = None, "", None
        account.save()
        if key is not None:
            account.secret = secrets.seal(account, "secret", key) if key else ""
            account.key_hint = key[-HINT_LENGTH:] if len(key) >= HINTED_FROM else ""
            account.save(update_fields=["secret", "key_hint"])
        changes = _changes(before, account) | ({} if key is None else {"key": "not shown"})
        if changes or before is None:
            action = f"provider_account.{'add' if before is None else 'change'}"
            audit.record_on(by, action, account, details=changes)


def check_key(key: str) -> str:
    """Return the key without the blanks around it.

    Raises:
        ConfigurationError: It cannot stand in a header. The key is not repeated.
    """
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError("The key holds characters that no key has; copy it again.")
    return key


def _changes(before: ProviderAccount | None, account: ProviderAccount) -> dict[str, Any]:
    """Return the changed values, before and after; a new account began as an empty one."""
    old = before if before is not None else ProviderAccount()
    return {
        name: audit.changed(getattr(old, name), getattr(account, name))
        for name in _SAID
        if getattr(old, name) != getattr(account, name)
    }


def _moved(before: ProviderAccount, account: ProviderAccount) -> list[str]:
    """Return the changed columns that decide where the key is sent."""
    changed = (f for f in _ADDRESS if getattr(before, f) != getattr(account, f))
    return [f"its {_ADDRESS[f]}" for f in changed]
