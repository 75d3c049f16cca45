"""Provider accounts of workspaces, with decrypted keys, for the process's model calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agents.runs.pool import Pool, call
from agents.runtime.providers.ttl_cache import TTLCache
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.secrets import SecretError, SecretLocation, decrypt

TABLE, COLUMN = "base_provideraccount", "secret"
_QUERY = f"""
    SELECT id, {COLUMN} AS secret, base_url, requests_per_minute, tokens_per_minute FROM {TABLE}
    WHERE workspace_id = %s AND provider = %s AND enabled
"""  # noqa: S608  two constants


@dataclass(frozen=True, slots=True)
class Account:
    """An enabled account.

    Attributes:
        key: Decrypted key; empty for a server without keys. It stays in this process.
        base_url: Base URL typed by a user, for which requests use the guarded client; empty: the
            provider's default.
        requests_per_minute: Limit of requests; None: unlimited.
    """

    id: int
    provider: str
    key: str = field(repr=False)
    base_url: str
    requests_per_minute: int | None
    tokens_per_minute: int | None


def account_name(account_id: int) -> str:
    """Return the name of a workspace's account for limiter and breaker."""
    return f"account:{account_id}"


class Accounts:
    """Accounts by workspace and provider, cached for ten seconds."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._remembered = TTLCache(self._read, name="provider-account", clock=clock)

    async def get(self, workspace_id: int, provider: str) -> Account | None:
        """Return the workspace's enabled account with a provider, or None.

        Raises:
            ConfigurationError: The account's key cannot be decrypted.
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
