"""A workspace's provider accounts, with their keys decrypted, for the process's model calls."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.runs.pool import call
from agents.runtime.ttl_cache import TTLCache
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.secrets import SecretError, SecretLocation, decrypt

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.runs.pool import Pool

TABLE, COLUMN = "base_provideraccount", "secret"
_QUERY = f"""
    SELECT id, {COLUMN} AS secret, base_url, requests_per_minute, tokens_per_minute FROM {TABLE}
    WHERE workspace_id = %s AND provider = %s AND enabled
"""  # noqa: S608  two constants


@dataclass(frozen=True, slots=True)
class Account:
    """An enabled account.

    Attributes:
        key: Decrypted; empty for a server without keys. It stays in this process.
        base_url: Empty: the provider's own place. Otherwise somebody typed it, so requests to it
            go through the guarded client.
        requests_per_minute: None for no limit; so is ``tokens_per_minute``.
    """

    id: int
    provider: str
    key: str = field(repr=False)
    base_url: str
    requests_per_minute: int | None
    tokens_per_minute: int | None


def account_name(account_id: int) -> str:
    """What limiter and breaker call a workspace's account."""
    return f"account:{account_id}"


class Accounts:
    """Reads an account at most every ten seconds; a change in the admin holds from then on."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._remembered = TTLCache(self._read, name="provider-account", clock=clock)

    async def get(self, workspace_id: int, provider: str) -> Account | None:
        """The workspace's enabled account with a provider; None when it has none.

        Raises:
            ConfigurationError: Its key cannot be decrypted.
        """
        return await self._remembered.get((workspace_id, provider))

    async def _read(self, asked: tuple[int, str]) -> Account | None:
        workspace_id, provider = asked
        row = await call(self._pool, _QUERY, asked)
        if row is None:
            return None
        try:
            stored, place = row["secret"], SecretLocation(TABLE, COLUMN, workspace_id, row["id"])
            key = decrypt(stored, place) if stored else ""
        except SecretError as error:
            raise ConfigurationError(
                f"The workspace's key for {provider} cannot be used: {error}"
            ) from error
        return Account(
            id=row["id"],
            provider=provider,
            key=key,
            base_url=row["base_url"],
            requests_per_minute=row["requests_per_minute"],
            tokens_per_minute=row["tokens_per_minute"],
        )
