"""What a worker reads of accounts: decrypted, for ten seconds, one query for many runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from agents.actions.provider_accounts import save_provider_account
from agents.runs.pool import open_pool
from agents.runtime.providers.accounts import Account, Accounts
from agents.runtime.providers.ttl_cache import KEEP, KEEP_SECONDS
from heartbit_site.base import orm
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import ProviderAccount

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture
async def pool(database: None) -> AsyncIterator[Pool]:
    opened = open_pool(settings.DATABASE_URL, max_size=2)
    await opened.open(wait=True)
    yield opened
    await opened.close()


class Clock:
    """Time that passes when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def save(workspace: Workspace, key: str | None = CANARY, **fields: object) -> ProviderAccount:
    def write() -> ProviderAccount:
        made = ProviderAccount.objects.filter(workspace=workspace).first()
        made = made or ProviderAccount(workspace=workspace, provider="openai")
        for name, value in fields.items():
            setattr(made, name, value)
        save_provider_account(made, key=key)
        return made

    return await orm.run_in_thread(write)


async def test_an_enabled_account_is_read_with_its_key(pool: Pool, workspace: Workspace) -> None:
    made = await save(workspace, base_url="http://h", requests_per_minute=5, tokens_per_minute=9)
    found = await Accounts(pool).get(workspace.pk, "openai")
    assert found == Account(made.pk, "openai", CANARY, "http://h", 5, 9)
    assert "canary" not in repr(found)


async def test_there_is_none_for_another_provider_or_tenant_or_when_it_is_disabled(
    pool: Pool, workspace: Workspace
) -> None:
    await save(workspace)
    accounts = Accounts(pool)
    assert await accounts.get(workspace.pk, "anthropic") is None
    assert await accounts.get(workspace.pk + 1_000_000, "openai") is None
    await save(workspace, enabled=False)
    assert await accounts.get(workspace.pk, "openai") is None


async def test_an_account_without_a_key_has_an_empty_one(pool: Pool, workspace: Workspace) -> None:
    await save(workspace, key=None, provider="ollama")
    found = await Accounts(pool).get(workspace.pk, "ollama")
    assert found is not None
    assert found.key == ""


async def test_a_change_holds_after_ten_seconds_and_not_before(
    pool: Pool, workspace: Workspace, clock: Clock
) -> None:
    accounts = Accounts(pool, clock=clock)
    assert await accounts.get(workspace.pk, "openai") is None
    await save(workspace)
    clock.now += KEEP_SECONDS - 0.001
    assert await accounts.get(workspace.pk, "openai") is None  # that there is none is kept as well
    clock.now += 0.001
    first = await accounts.get(workspace.pk, "openai")
    assert first is not None
    await save(workspace, key="another-key-0123456789")
    assert await accounts.get(workspace.pk, "openai") is first
    clock.now += KEEP_SECONDS
    second = await accounts.get(workspace.pk, "openai")
    assert second is not None
    assert second.key == "another-key-0123456789"


async def test_many_runs_at_once_cost_one_query_and_no_connection_afterwards(
    pool: Pool, workspace: Workspace
) -> None:
    await save(workspace)
    pool.pop_stats()
    accounts = Accounts(pool)
    found = await asyncio.gather(*(accounts.get(workspace.pk, "openai") for _ in range(200)))
    assert len({id(account) for account in found}) == 1
    stats = pool.get_stats()
    assert stats["requests_num"] == 1
    assert stats["pool_available"] == stats["pool_size"]


async def test_a_run_that_is_cancelled_does_not_take_the_answer_from_the_others(
    pool: Pool, workspace: Workspace
) -> None:
    await save(workspace)
    accounts = Accounts(pool)
    one, two = (asyncio.create_task(accounts.get(workspace.pk, "openai")) for _ in range(2))
    await asyncio.sleep(0)  # both wait for the same query now
    one.cancel()
    found = await two
    assert one.cancelled()
    assert found is not None


async def test_a_key_that_cannot_be_decrypted_is_an_error_that_says_how_to_mend_it(
    pool: Pool,
    workspace: Workspace,
    use_keys: Callable[..., None],
    new_key: Callable[[], str],
) -> None:
    right, wrong = new_key(), new_key()
    use_keys(right)
    await save(workspace)
    use_keys(wrong)
    accounts = Accounts(pool)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="key for openai cannot be used") as caught:
            await accounts.get(workspace.pk, "openai")
        assert "HEARTBIT_ENCRYPTION_KEYS" in str(caught.value)
    use_keys(wrong, right)  # mended: the failure was not kept
    assert await accounts.get(workspace.pk, "openai") is not None


async def test_what_is_remembered_is_bounded(pool: Pool, clock: Clock) -> None:
    accounts = Accounts(pool, clock=clock)
    pool.pop_stats()
    for provider in map(str, range(KEEP + 1)):
        await accounts.get(0, provider)
    assert pool.get_stats()["requests_num"] == KEEP + 1
    await accounts.get(0, str(KEEP))  # the newest is remembered
    assert pool.get_stats()["requests_num"] == KEEP + 1
    await accounts.get(0, "0")  # the oldest is not
    assert pool.get_stats()["requests_num"] == KEEP + 2
