"""Checks of the providers' keys in the environment, which count where a workspace has no account.

Each process has an environment of its own. Beat has a worker check the keys that workers have, and
a web process checks one that it has itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from django.utils import timezone

from agents.actions.provider_accounts import HOSTED, ask_all
from agents.llm.health import Health, HealthTarget
from heartbit_site.base import aio
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import EnvironmentKey
from heartbit_site.base.rights import require


def environment_keys(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variable that holds a key, by provider.

    Args:
        environ: Environment to read; the process's own if None.
    """
    environ = os.environ if environ is None else environ
    return {
        name: provider.key_env
        for name, provider in HOSTED.items()
        if provider.key_env and environ.get(provider.key_env, "").strip()
    }


def known_environment_keys() -> list[EnvironmentKey]:
    """Return the keys that have been checked, and those of this process, which are not saved."""
    rows = {row.provider: row for row in EnvironmentKey.objects.all()}
    for name, variable in environment_keys().items():
        rows.setdefault(name, EnvironmentKey(provider=name, variable=variable))
    return [rows[name] for name in sorted(rows)]


def check_environment_keys() -> int:
    """Check every key of this process, and forget others; return how many are unhealthy."""
    names = list(environment_keys())
    EnvironmentKey.objects.exclude(provider__in=names).delete()
    return sum(not health.ok for health in _check(names))


def check_environment_key(provider: str, *, by: Actor) -> Health:
    """Check one key and store the result; takes ten seconds at most.

    Raises:
        ForbiddenError: The author may not manage the installation.
        ConfigurationError: The environment of this process has no key of the provider.
    """
    require(by, "fleet:manage", workspace_id=None)
    if provider not in environment_keys():
        raise ConfigurationError(
            f"This process has no key of {provider} in its environment; the workers check theirs "
            "every ten minutes."
        )
    return _check([provider])[0]


def _check(names: Sequence[str]) -> list[Health]:
    if not names:
        return []
    variables = environment_keys()
    keys = {name: os.environ[variables[name]].strip() for name in names}
    found = aio.run(ask_all([HealthTarget(name, key) for name, key in keys.items()]))
    now = timezone.now()
    for name, health in zip(names, found, strict=True):
        EnvironmentKey.objects.update_or_create(
            provider=name,
            defaults={
                "variable": variables[name],
                "healthy": health.ok,
                "health_message": health.message,
                "latency_ms": health.latency_ms,
                "checked_at": now,
            },
        )
    return found
