"""Save an account with a provider, and its key encrypted."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from agents.llm.providers import PROVIDERS
from heartbit_site.base import audit, secrets
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.errors import ConfigurationError, ConflictError, about
from heartbit_site.base.models import ProviderAccount
from heartbit_site.base.rights import require

#: Providers that an account can be with, by name.
HOSTED = {name: provider for name, provider in PROVIDERS.items() if name != "local"}
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
        account: New or changed; its columns' own validators have accepted it.
        key: The new key; empty for none. None keeps the present one.
        by: Author, for the audit, which records that the key changed and never the key.

    Raises:
        ConfigurationError: The provider is unknown; the key or the base URL is missing; the key
            has characters that no key has; or the account now leads elsewhere and its key was not
            entered again.
        ConflictError: The workspace has another enabled account with the provider.
    """
    require(by, "workspace:manage", workspace_id=account.workspace_id)
    if key is not None:
        key = check_key(key)
    _check(account, key)
    with transaction.atomic():
        before = ProviderAccount.objects.select_for_update().filter(pk=account.pk).first()
        moved = _moved(before, account) if before is not None else []
        if moved and account.secret and key is None:
            raise ConfigurationError(
                f"Enter the key again: {' and '.join(moved)} changed, and a key is only sent where "
                "it was entered for."
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


def _check(account: ProviderAccount, key: str | None) -> None:
    """Raise if no call could be made with the account; the error names the column."""
    name, provider = account.provider, HOSTED.get(account.provider)
    with about("provider"):
        if provider is None:
            raise ConfigurationError(f'There is no provider "{name}"; use {", ".join(HOSTED)}.')
    with about("key"):
        if provider.key_required and not (account.secret if key is None else key):
            raise ConfigurationError(f"The provider {name} needs a key.")
    with about("base_url"):
        if not provider.base_url and not account.base_url:
            raise ConfigurationError(f"Enter where the server is: {name} has no URL of its own.")
    others = ProviderAccount.objects.filter(workspace=account.workspace_id, provider=name)
    with about("enabled"):
        if account.enabled and others.filter(enabled=True).exclude(pk=account.pk).exists():
            raise ConflictError(
                f"The workspace already has an enabled account with {name}; disable it first."
            )


def _changes(before: ProviderAccount | None, account: ProviderAccount) -> dict[str, Any]:
    """Return the changed values, before and after; a new account began as an empty one."""
    old = before if before is not None else ProviderAccount()
    return audit.changes(old, account, _SAID)


def _moved(before: ProviderAccount, account: ProviderAccount) -> list[str]:
    """Return the changed columns that decide where the key is sent."""
    changed = (f for f in _ADDRESS if getattr(before, f) != getattr(account, f))
    return [f"its {_ADDRESS[f]}" for f in changed]
