"""Workers that share an account through a real Valkey."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from typing import TYPE_CHECKING

import pytest

from agents.live.valkey import connect
from agents.llm.adapters.scripted import ScriptedModel
from agents.llm.errors import RateLimitedError, ThrottledError
from agents.llm.wrappers.limit import LimitedModel, Limits
from agents.runtime.providers import valkey_guard
from agents.runtime.providers.limiter import ValkeyLimiter, limit_key
from tests.pace import in_time

from .support import Clock, collect, complete

if TYPE_CHECKING:
    from redis.asyncio import Redis

ONE_A_SECOND = Limits(60, None)
TOKENS = Limits(None, 6000)  # a hundred a second
NONE = Limits(None, None)
LATE = 0.25  # what a busy machine may take between two calls


@pytest.fixture
def one(valkey: Redis) -> ValkeyLimiter:
    return ValkeyLimiter(valkey)


@pytest.fixture
def other(other_valkey: Redis) -> ValkeyLimiter:
    return ValkeyLimiter(other_valkey)


async def test_two_workers_calls_are_spaced_together(
    one: ValkeyLimiter, other: ValkeyLimiter, account: str
) -> None:
    began = time.monotonic()
    moments = []
    for limiter in (one, other, one, other, one):
        wait = await limiter.reserve(account, ONE_A_SECOND, 0, max_wait=9)
        moments.append(time.monotonic() - began + wait)
    assert moments == pytest.approx([0, 1, 2, 3, 4], abs=LATE)


@pytest.mark.paced
async def test_two_workers_models_keep_the_rate_in_real_time(
    one: ValkeyLimiter, other: ValkeyLimiter, account: str
) -> None:
    scripted = ScriptedModel(lambda _request: "Done.")
    first, second = (LimitedModel(scripted, each, account, ONE_A_SECOND) for each in (one, other))
    began = time.monotonic()
    await asyncio.gather(complete(first), complete(second), complete(first))
    took = time.monotonic() - began
    assert took >= 2.0 - LATE
    in_time(took, 4.0)


async def test_reservations_made_at_the_same_time_are_all_counted(
    one: ValkeyLimiter, other: ValkeyLimiter, account: str
) -> None:
    limits = Limits(6000)  # a hundred a second, a hundred at once
    waits = await asyncio.gather(
        *(each.reserve(account, limits, 0, max_wait=9) for each in (one, other) for _ in range(150))
    )
    assert sum(wait == 0.0 for wait in waits) >= 100
    assert max(waits) == pytest.approx(2.0, abs=1.0)


async def test_tokens_are_weighed_and_a_settlement_gives_back_or_takes_more(
    one: ValkeyLimiter, other: ValkeyLimiter, account: str
) -> None:
    assert await one.reserve(account, TOKENS, 6000, max_wait=9) == 0.0
    assert await other.reserve(account, TOKENS, 500, max_wait=9) == pytest.approx(5.0, abs=LATE)
    await one.settle(account, TOKENS, reserved=6000, used=5000)
    assert await other.reserve(account, TOKENS, 500, max_wait=9) == pytest.approx(0.0, abs=LATE)
    await one.settle(account, TOKENS, reserved=500, used=1200)
    wait = await other.reserve(account, TOKENS, 100, max_wait=9)
    assert wait == pytest.approx(8.0, abs=2 * LATE)


async def test_a_whole_refund_leaves_the_account_as_it_was(
    one: ValkeyLimiter, account: str
) -> None:
    await one.reserve(account, TOKENS, 6000, max_wait=9)
    await one.settle(account, TOKENS, reserved=6000, used=0)
    assert await one.reserve(account, TOKENS, 6000, max_wait=9) == pytest.approx(0.0, abs=0.001)


async def test_usage_beyond_an_account_that_was_full_is_owed(
    one: ValkeyLimiter, account: str
) -> None:
    await one.settle(account, TOKENS, reserved=0, used=6300)
    wait = await one.reserve(account, TOKENS, 100, max_wait=9)
    assert wait == pytest.approx(4.0, abs=LATE)


async def test_what_is_too_far_away_is_not_reserved(one: ValkeyLimiter, account: str) -> None:
    await one.reserve(account, TOKENS, 6000, max_wait=9)
    for _ in range(3):
        wait = await one.reserve(account, TOKENS, 3000, max_wait=9)
        assert wait == pytest.approx(30.0, abs=2 * LATE)
    assert await one.reserve(account, TOKENS, 100, max_wait=9) < 2.0


async def test_one_worker_s_429_holds_the_others(
    one: ValkeyLimiter, other: ValkeyLimiter, account: str
) -> None:
    slow = LimitedModel(
        ScriptedModel([RateLimitedError("slow", retry_after=60)]), one, account, NONE
    )
    with pytest.raises(RateLimitedError):
        await collect(slow)
    for limits in (NONE, ONE_A_SECOND, TOKENS):
        held = LimitedModel(ScriptedModel(["never"]), other, account, limits)
        with pytest.raises(ThrottledError) as caught:
            await collect(held)
        assert caught.value.retry_after == pytest.approx(60.0, abs=LATE)


@pytest.mark.paced
async def test_a_short_pause_is_waited_out_and_a_shorter_one_does_not_cut_it(
    one: ValkeyLimiter, other: ValkeyLimiter, account: str
) -> None:
    await one.pause(account, 0.6)
    await one.pause(account, 0.1)
    began = time.monotonic()
    await complete(LimitedModel(ScriptedModel(["Done."]), other, account, NONE))
    took = time.monotonic() - began
    assert took > 0.6 - LATE
    in_time(took, 3.0)


async def test_the_spacing_goes_on_after_a_pause(
    one: ValkeyLimiter, other: ValkeyLimiter, account: str
) -> None:
    await one.pause(account, 5)
    waits = [await other.reserve(account, ONE_A_SECOND, 0, max_wait=9) for _ in range(3)]
    assert waits == pytest.approx([5, 6, 7], abs=2 * LATE)


async def test_a_free_account_is_looked_at_once_a_second(valkey: Redis, account: str) -> None:
    clock = Clock()
    watching, other = ValkeyLimiter(valkey, clock=clock), ValkeyLimiter(valkey)
    assert await watching.reserve(account, NONE, 0, max_wait=9) == 0.0
    await other.pause(account, 30)
    clock.now += 0.9
    assert await watching.reserve(account, NONE, 0, max_wait=9) == 0.0  # as it saw it last
    clock.now += 0.2
    left = await watching.reserve(account, NONE, 0, max_wait=9)
    assert left == pytest.approx(30, abs=LATE)
    await valkey.delete(limit_key(account))
    clock.now += 10  # known without asking
    assert await watching.reserve(account, NONE, 0, max_wait=9) == pytest.approx(left - 10)


async def test_keys_go_away_by_themselves(one: ValkeyLimiter, valkey: Redis, account: str) -> None:
    key = limit_key(account)
    await one.reserve(account, NONE, 0, max_wait=9)
    assert not await valkey.exists(key)
    await one.reserve(account, TOKENS, 3000, max_wait=9)
    assert 25_000 < await valkey.pttl(key) <= 30_100
    await one.pause(account, 50)
    assert 45_000 < await valkey.pttl(key) <= 50_100
    await one.pause(account, 1)
    assert await valkey.pttl(key) > 45_000


async def test_the_scripts_come_back_after_valkey_forgot_them(
    one: ValkeyLimiter, valkey: Redis, account: str
) -> None:
    await one.reserve(account, ONE_A_SECOND, 0, max_wait=9)
    await valkey.script_flush()
    assert await one.reserve(account, ONE_A_SECOND, 0, max_wait=9) > 0.5


async def test_given_no_valkey_then_calls_go_and_one_warning_is_logged(
    gone: Redis,
    account: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(valkey_guard, "TIMEOUT_SECONDS", 0.1)
    clock = Clock()
    limiter = ValkeyLimiter(gone, clock=clock)
    with caplog.at_level(logging.WARNING):
        for limits in (NONE, ONE_A_SECOND, TOKENS) * 2:
            assert await limiter.reserve(account, limits, 9, max_wait=9) == 0.0
            await limiter.settle(account, limits, reserved=9, used=1)
            clock.now += 6
    assert len(caplog.records) == 1
    assert "limits of provider accounts are not enforced" in caplog.text
    clock.now += 60
    await limiter.reserve(account, ONE_A_SECOND, 9, max_wait=9)
    assert len(caplog.records) == 2


async def test_given_no_valkey_then_this_worker_s_own_pause_still_holds(
    gone: Redis, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(valkey_guard, "TIMEOUT_SECONDS", 0.1)
    limiter = ValkeyLimiter(gone, clock=Clock())
    await limiter.pause(account, 7)
    for limits in (NONE, ONE_A_SECOND):
        assert await limiter.reserve(account, limits, 0, max_wait=9) == 7.0
        assert await limiter.reserve(account, limits, 0, max_wait=5) == 7.0


async def test_given_a_valkey_that_says_nothing_then_a_call_waits_once_and_not_for_long(
    account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(valkey_guard, "TIMEOUT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = connect(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        limiter = ValkeyLimiter(client)
        async with asyncio.timeout(2):
            for _ in range(50):
                assert await limiter.reserve(account, ONE_A_SECOND, 0, max_wait=9) == 0.0
        await client.aclose()
