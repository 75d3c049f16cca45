"""The circuits that workers share, on the installation's own Valkey."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.errors import CircuitOpenError, OverloadedError
from agents.llm.messages import Completion
from agents.llm.wrappers.breaker import BreakerModel
from agents.runtime.providers import breaker as module
from agents.runtime.providers import valkey_guard
from agents.runtime.providers.breaker import ValkeyBreaker
from agents.runtime.providers.circuit_scripts import breaker_key
from agents.runtime.providers.open_circuits import close_circuit, open_circuits

from .support import Clock, collect, complete

if TYPE_CHECKING:
    from redis.asyncio import Redis

LATE = 4.0  # what a starved machine may take between two calls


@pytest.fixture
def one(valkey: Redis) -> ValkeyBreaker:
    return ValkeyBreaker(valkey)


@pytest.fixture
def other(other_valkey: Redis) -> ValkeyBreaker:
    return ValkeyBreaker(other_valkey)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit that opens for a moment only."""
    monkeypatch.setattr(module, "OPEN_SECONDS", 0.2)


async def fail(breaker: ValkeyBreaker, account: str, times: int) -> None:
    for _ in range(times):
        await breaker.failed(account, "")


async def until_probe(breaker: ValkeyBreaker, account: str) -> str:
    """Ask again until this caller is the one that tries."""
    async with asyncio.timeout(10):
        while not (admission := await breaker.admit(account)).probe:
            await asyncio.sleep(admission.wait)
    return admission.probe


async def test_two_workers_failures_are_counted_together(
    one: ValkeyBreaker, other: ValkeyBreaker, account: str
) -> None:
    await fail(one, account, 3)
    assert (await other.admit(account)).wait == 0
    await fail(other, account, 2)
    assert (await other.admit(account)).wait == pytest.approx(10, abs=LATE)


async def test_a_worker_that_did_not_see_it_open_learns_it_within_a_second(
    valkey: Redis, other: ValkeyBreaker, account: str
) -> None:
    clock = Clock()
    watching = ValkeyBreaker(valkey, clock=clock)
    assert (await watching.admit(account)).wait == 0
    await fail(other, account, 5)
    clock.now += 0.9
    assert (await watching.admit(account)).wait == 0, "as it saw it last"
    clock.now += 0.2
    assert (await watching.admit(account)).wait == pytest.approx(10, abs=LATE)


async def test_a_success_makes_the_other_s_count_begin_anew(
    one: ValkeyBreaker, other: ValkeyBreaker, account: str
) -> None:
    await fail(one, account, 4)
    await other.admit(account)
    await other.succeeded(account, "")
    await fail(one, account, 4)
    assert (await one.admit(account)).wait == 0


async def test_given_nobody_failed_then_successes_write_nothing_and_looks_are_one_a_second(
    valkey: Redis, account: str
) -> None:
    clock = Clock()
    breaker = ValkeyBreaker(valkey, clock=clock)
    scripted = ScriptedModel(lambda _request: "Done.")
    model = BreakerModel(scripted, breaker, account)
    await complete(model)
    before = (await valkey.info("commandstats"))["cmdstat_evalsha"]["calls"]
    for _ in range(20):
        await complete(model)
    after = (await valkey.info("commandstats"))["cmdstat_evalsha"]["calls"]
    assert after == before
    clock.now += 1.1
    await complete(model)
    assert (await valkey.info("commandstats"))["cmdstat_evalsha"]["calls"] == before + 1


@pytest.mark.usefixtures("soon")
async def test_given_fifty_callers_of_two_workers_then_one_probe_goes_and_closes_it(
    one: ValkeyBreaker, other: ValkeyBreaker, account: str
) -> None:
    await fail(one, account, 5)
    await other.admit(account)
    await asyncio.sleep(0.25)  # what is tested is Valkey's own clock
    scripted = ScriptedModel([Reply(text="Here.", delay_seconds=0.2)])
    models = [BreakerModel(scripted, each, account) for each in (one, other)]
    results = await asyncio.gather(
        *(complete(models[number % 2]) for number in range(50)), return_exceptions=True
    )
    assert len(scripted.requests) == 1
    assert sum(isinstance(result, Completion) for result in results) == 1
    assert sum(isinstance(result, CircuitOpenError) for result in results) == 49
    assert (await one.admit(account)).wait == 0 or (await other.admit(account)).wait == 0


@pytest.mark.usefixtures("soon")
async def test_given_the_probe_fails_then_it_opens_for_longer_for_all(
    one: ValkeyBreaker, other: ValkeyBreaker, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fail(one, account, 5)
    probe = await until_probe(one, account)
    monkeypatch.setattr(module, "OPEN_SECONDS", 10)
    await one.failed(account, probe)
    assert (await one.admit(account)).wait == pytest.approx(20, abs=LATE)
    assert (await other.admit(account)).wait == pytest.approx(20, abs=LATE)


@pytest.mark.usefixtures("soon")
async def test_given_the_prober_dies_then_another_one_tries_after_a_while(
    one: ValkeyBreaker, other: ValkeyBreaker, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.5)
    await fail(one, account, 5)
    lost = await until_probe(one, account)
    found = await until_probe(other, account)
    await one.succeeded(account, lost)
    assert (await other.admit(account)).wait > 0, "who was given up decides nothing"
    await other.succeeded(account, found)
    assert (await other.admit(account)).wait == 0


async def test_people_see_an_open_circuit_and_close_it(
    valkey_url: str, valkey: Redis, one: ValkeyBreaker, account: str
) -> None:
    clock = Clock()
    watching = ValkeyBreaker(valkey, clock=clock)
    await fail(one, account, 4)
    assert open_circuits(valkey_url, [account]) == {}
    await fail(one, account, 1)
    assert (await watching.admit(account)).wait > 0
    circuit = open_circuits(valkey_url, ["test:other", account])[account]
    assert circuit.openings == 1
    assert circuit.seconds_left == pytest.approx(10, abs=LATE)
    close_circuit(valkey_url, account)
    clock.now += 1.1
    assert (await watching.admit(account)).wait == 0
    assert open_circuits(valkey_url, [account]) == {}


async def test_keys_go_away_by_themselves(one: ValkeyBreaker, valkey: Redis, account: str) -> None:
    await fail(one, account, 1)
    assert 25_000 < await valkey.pttl(breaker_key(account)) <= 30_000
    await fail(one, account, 4)
    assert 600_000 < await valkey.pttl(breaker_key(account)) <= 610_000


async def test_given_no_valkey_then_a_worker_goes_by_what_it_saw_and_warns_once(
    gone: Redis,
    account: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(valkey_guard, "TIMEOUT_SECONDS", 0.1)
    clock = Clock()
    breaker = ValkeyBreaker(gone, clock=clock)
    down = ScriptedModel([*[OverloadedError("down")] * 5, "Here."])
    model = BreakerModel(down, breaker, account)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            with pytest.raises(OverloadedError):
                await collect(model)
        with pytest.raises(CircuitOpenError):
            await collect(model)
        clock.now += 10
        await complete(model)
    assert len(caplog.records) == 1
    assert (await breaker.admit(account)).wait == 0
