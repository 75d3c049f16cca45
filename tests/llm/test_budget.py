"""The model that asks a purse, and the reservations of calls under way."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.errors import BudgetSpentError, OverloadedError
from agents.llm.messages import Usage
from agents.llm.wrappers.budget import Amount, BudgetedModel
from agents.llm.wrappers.estimate import estimate_tokens
from agents.runtime.providers import valkey_guard
from agents.runtime.providers.reservations import LocalReservations, ValkeyReservations, budget_key

from .support import HELLO, collect, complete

if TYPE_CHECKING:
    from redis.asyncio import Redis

SAID = estimate_tokens(HELLO) - HELLO.max_tokens


class Purse:
    """Has so much, and notes what is asked of it."""

    def __init__(self, has: Amount | None) -> None:
        self.has = has
        self.asked: list[tuple[Amount, Amount]] = []
        self.released = 0
        self.keeping = False

    def is_known_unlimited(self) -> bool:
        return False

    async def has_budget(self) -> bool:
        return self.has is not None

    async def reserve(self, least: Amount, most: Amount) -> Amount:
        self.asked.append((least, most))
        granted = (self.has or most).at_most(most)
        if not granted.covers(least):
            raise BudgetSpentError("spent")
        return granted

    async def keep(self) -> None:
        self.keeping = True
        try:
            await asyncio.Event().wait()
        finally:
            self.keeping = False

    def release(self) -> None:
        self.released += 1


def a_cent_for_ten(_model: str, usage: Usage) -> Decimal:
    """A tenth of a cent for each token of the answer, and for a hundred of the question."""
    return Decimal(usage.output_tokens) / 1000 + Decimal(usage.input_tokens) / 100_000


def free(_model: str, _usage: Usage) -> None:
    return None


class TestBudgetedModel:
    async def test_given_no_budget_then_nothing_is_reserved(self) -> None:
        scripted, purse = ScriptedModel(["Hi."]), Purse(None)
        model = BudgetedModel(scripted, purse, free)
        await complete(model)
        assert (purse.asked, scripted.requests) == ([], [HELLO])
        assert model.name == "scripted:model"

    async def test_given_enough_then_the_request_goes_as_it_is_and_stays_reserved(self) -> None:
        scripted, purse = ScriptedModel(["Hi."]), Purse(Amount(10_000, Decimal(10)))
        await complete(BudgetedModel(scripted, purse, free))
        assert purse.asked == [(Amount(SAID + 256), Amount(SAID + 4096))]
        assert scripted.requests[0].max_tokens == 4096
        assert purse.released == 0, "until the answer is journaled"
        await asyncio.sleep(0)
        assert not purse.keeping

    async def test_given_less_then_the_answer_may_only_be_as_long_as_that(self) -> None:
        scripted, purse = ScriptedModel(["Hi."]), Purse(Amount(SAID + 1000, Decimal(10)))
        await complete(BudgetedModel(scripted, purse, free))
        assert scripted.requests[0].max_tokens == 1000

    async def test_given_less_money_then_the_answer_may_only_cost_that(self) -> None:
        scripted = ScriptedModel(["Hi."])
        purse = Purse(Amount(10_000, a_cent_for_ten("", Usage(SAID, 500))))
        await complete(BudgetedModel(scripted, purse, a_cent_for_ten))
        assert scripted.requests[0].max_tokens == pytest.approx(500, abs=1)

    async def test_given_too_little_for_a_useful_answer_then_nothing_is_sent(self) -> None:
        scripted, purse = ScriptedModel(["never"]), Purse(Amount(SAID + 255, Decimal(10)))
        with pytest.raises(BudgetSpentError):
            await collect(BudgetedModel(scripted, purse, free))
        assert scripted.requests == []
        short = replace(HELLO, max_tokens=20)
        await complete(BudgetedModel(ScriptedModel(["Hi."]), purse, free), short)

    async def test_given_a_failure_or_a_cancel_then_all_is_given_back(self) -> None:
        purse = Purse(Amount(10_000, Decimal(10)))
        with pytest.raises(OverloadedError):
            await collect(BudgetedModel(ScriptedModel([OverloadedError("x")]), purse, free))
        assert purse.released == 1
        slow = ScriptedModel([Reply(text="x", delay_seconds=60)])
        task = asyncio.create_task(collect(BudgetedModel(slow, purse, free)))
        while not purse.keeping:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert purse.released == 2


@pytest.fixture
def budget() -> int:
    return secrets.randbits(48)


@pytest.fixture(params=["local", "valkey"])
def kept(request: pytest.FixtureRequest, valkey: Redis) -> LocalReservations | ValkeyReservations:
    return LocalReservations() if request.param == "local" else ValkeyReservations(valkey)


class TestReservations:
    async def test_each_holder_is_told_what_the_others_have(
        self, kept: LocalReservations | ValkeyReservations, budget: int
    ) -> None:
        async def put(who: str, tokens: int, usd: str) -> Amount:
            return (await kept.put([budget], who, Amount(tokens, Decimal(usd)), seconds=9))[budget]

        assert await put("a", 100, "0.000000003") == Amount()
        assert await put("b", 50, "1.5") == Amount(100, Decimal("0.000000003"))
        assert await put("b", 70, "0.25") == Amount(100, Decimal("0.000000003")), "not one's own"
        assert await put("c", 1, "0") == Amount(170, Decimal("0.250000003"))
        await kept.drop([budget], "a")
        assert await put("c", 1, "0") == Amount(70, Decimal("0.25"))

    async def test_given_its_holder_is_killed_then_a_reservation_lapses(
        self, kept: LocalReservations | ValkeyReservations, budget: int
    ) -> None:
        await kept.put([budget], "killed", Amount(100), seconds=0.3)
        await kept.put([budget], "alive", Amount(1), seconds=9)
        assert (await kept.put([budget], "third", Amount(1), seconds=9))[budget] == Amount(101)
        await asyncio.sleep(0.35)  # what is tested is time itself
        assert (await kept.put([budget], "third", Amount(1), seconds=9))[budget] == Amount(1)

    async def test_a_call_counts_against_several_budgets(
        self, kept: LocalReservations | ValkeyReservations, budget: int
    ) -> None:
        await kept.put([budget], "a", Amount(5), seconds=9)
        held = await kept.put([budget, budget + 1], "b", Amount(7), seconds=9)
        assert held == {budget: Amount(5), budget + 1: Amount()}
        assert (await kept.put([budget + 1], "c", Amount(), seconds=9))[budget + 1] == Amount(7)

    async def test_keys_go_away_by_themselves(self, valkey: Redis, budget: int) -> None:
        await ValkeyReservations(valkey).put([budget], "a", Amount(5), seconds=60)
        assert 55_000 < await valkey.pttl(budget_key(budget)) <= 61_000

    async def test_given_no_valkey_then_others_have_nothing_and_one_warning_is_logged(
        self,
        gone: Redis,
        budget: int,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setattr(valkey_guard, "TIMEOUT_SECONDS", 0.1)
        away = ValkeyReservations(gone)
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                assert await away.put([budget], "a", Amount(5), seconds=9) == {budget: Amount()}
                await away.drop([budget], "a")
        assert len(caplog.records) == 1
