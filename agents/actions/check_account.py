"""Health checks of provider accounts: ask each provider whether it accepts the stored key."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from django.conf import settings
from django.utils import timezone

from agents.llm.client import create_client
from agents.llm.credentials import environ_url
from agents.llm.health import MAX_BYTES, Health, HealthTarget, check
from agents.models import Agent
from heartbit_site.base import aio, secrets
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.models import ProviderAccount

AT_ONCE = 16
MODELS = 20  # named by one workspace's agents; more do not fit into a sentence


def check_account(account: ProviderAccount) -> Health:
    """Check one account and store the result; takes ten seconds at most."""
    return _check([account])[0]


def check_enabled_accounts() -> int:
    """Check every enabled account and store the results; return how many are unhealthy."""
    accounts = ProviderAccount.objects.filter(enabled=True).select_related("workspace")
    return sum(not health.ok for health in _check(list(accounts)))


def _check(accounts: Sequence[ProviderAccount]) -> list[Health]:
    subjects = [_subject(account) for account in accounts]
    found = aio.run(_ask_all(subjects))
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


async def _ask_all(subjects: Sequence[HealthTarget | Health]) -> list[Health]:
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
    account.checked_at = timezone.now()
    ProviderAccount.objects.filter(
        pk=account.pk, secret=account.secret, base_url=account.base_url
    ).update(
        healthy=account.healthy,
        health_message=account.health_message,
        checked_at=account.checked_at,
    )
