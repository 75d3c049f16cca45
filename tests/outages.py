"""Providers that do not answer: circuits as workers leave them in Valkey."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import redis
from django.conf import settings

from agents.runtime.providers.accounts import account_name
from agents.runtime.providers.circuit_scripts import breaker_key
from heartbit_site.base.models import ProviderAccount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace


@contextmanager
def outages() -> Iterator[Outages]:
    """Yield a maker of outages, which end with the block."""
    with redis.Redis.from_url(settings.REDIS_URL, decode_responses=True) as client:
        made = Outages(client)
        yield made
        for name in made.names:
            client.delete(name)


class Outages:
    """Maker of open circuits."""

    def __init__(self, client: redis.Redis) -> None:
        """Take a client of Valkey."""
        self._client = client
        self.names: list[str] = []

    def __call__(self, account: str, *, openings: int = 2, seconds: float = 40.5) -> None:
        """Let an account's circuit have opened so often, with a probe due in so many seconds."""
        self.names.append(breaker_key(account))
        until = self._client.time()[0] + seconds
        self._client.hset(self.names[-1], mapping={"openings": openings, "until": until})


def account_of(workspace: Workspace, provider: str) -> str:
    """Return the name of the workspace's account, which is made if there is none."""
    row, _ = ProviderAccount.objects.get_or_create(workspace=workspace, provider=provider)
    return account_name(row.pk)
