"""Save an account with a provider, and its key encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from heartbit_site.base import secrets
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import ProviderAccount

if TYPE_CHECKING:
    from collections.abc import Iterable

HINT_LENGTH = 4
HINTED_FROM = 16  # of a shorter key four characters would tell too much


def save_provider_account(account: ProviderAccount, *, key: str | None = None) -> None:
    """Write the account's row and, in the same transaction, its key.

    Args:
        account: New or changed, already validated.
        key: The key to keep from now on; empty for none. None keeps the present one.

    Raises:
        ConfigurationError: The key has characters that no key has; or the account now leads
            elsewhere and its key was not entered again.
    """
    if key is not None:
        key = check_key(key)
    with transaction.atomic():
        moved = _moved(account)
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


def check_key(key: str) -> str:
    """The key without the blanks around it.

    Raises:
        ConfigurationError: It cannot stand in a header. The key is not repeated.
    """
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError("The key holds characters that no key has; copy it again.")
    return key


def _moved(account: ProviderAccount) -> list[str]:
    """Which of the columns changed that decide who is sent the key."""
    before = ProviderAccount.objects.select_for_update().filter(pk=account.pk).first()
    if before is None:
        return []
    names: Iterable[tuple[str, str]] = (
        ("workspace_id", "workspace"),
        ("provider", "provider"),
        ("base_url", "base URL"),
    )
    return [f"its {name}" for f, name in names if getattr(before, f) != getattr(account, f)]
