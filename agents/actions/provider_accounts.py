"""Save accounts with providers, their keys encrypted, and check whether the keys work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agents.llm.client import create_client
from agents.llm.credentials import environ_url
from agents.llm.health import MAX_BYTES, Health, HealthTarget, check
from agents.llm.providers import PROVIDERS
from agents.models import Agent
from heartbit_site.base import aio, audit, secrets
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.errors import ConfigurationError, ConflictError, HeartbitError, about
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
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
            has characters that no key has; or the address of the account changed and the key was
            not entered again.
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
            account.healthy, account.health_message = None, ""
            account.latency_ms = account.checked_at = None
        account.save()
        if key is not None:
            account.secret = secrets.seal(account, "secret", key) if key else ""
            account.key_hint = key[-HINT_LENGTH:] if len(key) >= HINTED_FROM else ""
            account.save(update_fields=["secret", "key_hint"])
        changes = _changes(before, account) | ({} if key is None else {"key": "not shown"})
        if changes or before is None:
            action = f"provider_account.{'add' if before is None else 'change'}"
            audit.record_on(by, action, account, details=changes)


@transaction.atomic
def remove_provider_account(account: ProviderAccount, *, by: Actor = SYSTEM) -> None:
    """Delete an account and its key; the environment's key is used again, if there is one.

    Raises:
        ForbiddenError: The actor may not manage the workspace.
    """
    require(by, "workspace:manage", workspace_id=account.workspace_id)
    audit.record_on(by, "provider_account.delete", account)
    account.delete()


def check_key(key: str) -> str:
    """Return the key without surrounding whitespace.

    Raises:
        ConfigurationError: The key is not valid in a header; the message does not repeat it.
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


#: Columns of a check's result.
RESULT = ("healthy", "health_message", "latency_ms", "checked_at")
AT_ONCE = 16
MODELS = 20  # named by one workspace's agents; more do not fit into a sentence


def check_account(account: ProviderAccount) -> Health:
    """Check one account and store the result; takes ten seconds at most."""
    return _check_all([account])[0]


def check_enabled_accounts() -> int:
    """Check every enabled account and store the results; return how many are unhealthy."""
    accounts = ProviderAccount.objects.filter(enabled=True).select_related("workspace")
    return sum(not health.ok for health in _check_all(list(accounts)))


def _check_all(accounts: Sequence[ProviderAccount]) -> list[Health]:
    subjects = [_subject(account) for account in accounts]
    found = aio.run(ask_all(subjects))
    for account, health in zip(accounts, found, strict=True):
        _store(account, health)
    return found


def _subject(account: ProviderAccount) -> HealthTarget | Health:
    """Return the target to check, or the result at once if the key cannot be read."""
    try:
        key = secrets.reveal(account, "secret")
    except HeartbitError as error:
        return Health(ok=False, message=str(error))
    return HealthTarget(account.provider, key, account.base_url, _models(account))


def _models(account: ProviderAccount) -> tuple[str, ...]:
    """Return the provider's models that the workspace names."""
    prefix = f"{account.provider}:"
    named = Agent.objects.filter(workspace=account.workspace_id, model__startswith=prefix)
    models = set(named.order_by("model").values_list("model", flat=True).distinct()[:MODELS])
    if account.workspace.default_model.startswith(prefix):
        models.add(account.workspace.default_model)
    return tuple(sorted(model.removeprefix(prefix) for model in models))


async def ask_all(subjects: Sequence[HealthTarget | Health]) -> list[Health]:
    """Return the results of checks, in order; those that are known already are kept."""
    slots = asyncio.Semaphore(AT_ONCE)
    async with AsyncExitStack() as stack:
        own = await stack.enter_async_context(create_client())
        guarded = await stack.enter_async_context(
            GuardedClient(
                allow=parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST), max_response_bytes=MAX_BYTES
            )
        )

        async def ask(subject: HealthTarget | Health) -> Health:
            if isinstance(subject, Health):
                return subject
            # A person typed the base URL of an account, so it may not be a private host.
            client = guarded if subject.base_url else own
            place = subject.base_url or environ_url(subject.provider, os.environ)
            async with slots:
                return await check(replace(subject, base_url=place), client=client)

        return list(await asyncio.gather(*(ask(subject) for subject in subjects)))


def _store(account: ProviderAccount, health: Health) -> None:
    """Store the result, unless the account was changed meanwhile and may have another key."""
    account.healthy, account.health_message = health.ok, health.message
    account.checked_at, account.latency_ms = timezone.now(), health.latency_ms
    same = {"pk": account.pk, "secret": account.secret, "base_url": account.base_url}
    found = {name: getattr(account, name) for name in RESULT}
    ProviderAccount.objects.filter(**same).update(**found)
