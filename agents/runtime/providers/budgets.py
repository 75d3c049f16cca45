"""Budgets of workspaces and agents: spent amounts in Postgres, reservations of calls in flight.

A call first reserves and then reads the spent amounts: an amount that another call books in between
counts twice for that moment, rather than not at all. The journal books usage in the transaction of
the answer (``agents/runs/sql/budgets.sql``); only then is the reservation dropped.

A workspace without budgets costs each process one query every ten seconds, like its accounts.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import psycopg
from psycopg.rows import DictRow

from agents.llm.errors import BudgetAsksError, BudgetSpentError, ThrottledError
from agents.llm.wrappers.budget import Amount
from agents.runtime.providers.spending_terms import TERMS, RunScope, SpendingTerms, read_terms
from agents.runtime.providers.ttl_cache import TTLCache
from heartbit_site.base.audit import BY_SCHEDULE
from heartbit_site.base.budget_scope import describe_scope
from heartbit_site.base.people import with_accounts

if TYPE_CHECKING:
    from agents.runs.pool import Pool
    from agents.runtime.providers.reservations import Reservations

logger = logging.getLogger(__name__)

RESERVE_SECONDS = 60.0  # expiry of a killed worker's reservation
RENEW_SECONDS = 20.0
HOLD_SECONDS = 2.0  # longest wait of a call for others' reservations, in its worker
WAIT_SECONDS = 5.0  # wait without a worker after that, before the next attempt
_UNBOUNDED = Amount(2**62, Decimal(2**62))

_STARTED_BY = "SELECT started_by FROM agents_run WHERE id = %s"
_LEFT = with_accounts("""
    SELECT b.id, b.period, b.max_tokens, b.max_usd, coalesce(a.name, '') AS agent,
           w.slug AS workspace, CASE WHEN b.from_tier THEN t.name ELSE '' END AS tier,
           coalesce(p.username, '') AS person, b.schedule, CASE WHEN b.allowed_period
               IS DISTINCT FROM date_trunc(b.period, clock_timestamp(), 'UTC') THEN b.ask_at
           END AS ask_at,
           heartbit_spent_tokens(b) AS tokens, heartbit_spent_usd(b) AS usd
    FROM agents_budget b JOIN base_workspace w ON w.id = b.workspace_id
         LEFT JOIN base_tier t ON t.id = w.tier_id
         LEFT JOIN agents_agent a ON a.id = b.agent_id
         LEFT JOIN auth_user p ON p.id = b.person_id
    WHERE b.id = ANY(%s) ORDER BY b.id
""")
# The next check of quotas reports it (agents/actions/quotas.py).
_REFUSED = """
    UPDATE agents_budget SET exceeded_period = date_trunc(period, clock_timestamp(), 'UTC')
    WHERE id = %s AND exceeded_period IS DISTINCT FROM date_trunc(period, clock_timestamp(), 'UTC')
    RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Balance:
    """A budget with the amount spent in this period.

    Attributes:
        whose: Owner for people, such as ``workspace default``.
        tier: Name of the tier that sets the limit; else empty.
        ask_at: Percentage from which on an owner is asked to go on; None: no one is asked now.
    """

    id: int
    whose: str
    period: str
    max_tokens: int | None
    max_usd: Decimal | None
    spent: Amount
    tier: str = ""
    ask_at: int | None = None

    @property
    def asks(self) -> bool:
        """True if an owner has to let runs go on."""
        limits = ((self.spent.tokens, self.max_tokens), (self.spent.usd, self.max_usd))
        percent = self.ask_at
        return percent is not None and any(
            most is not None and spent * 100 >= most * percent for spent, most in limits
        )

    def left(self, reserved: Amount) -> Amount:
        """Return the amount left, given the amount reserved."""
        tokens, usd = _UNBOUNDED.tokens, _UNBOUNDED.usd
        if self.max_tokens is not None:
            tokens = self.max_tokens - self.spent.tokens - reserved.tokens
        if self.max_usd is not None:
            usd = self.max_usd - self.spent.usd - reserved.usd
        return Amount(tokens, usd)

    def __str__(self) -> str:
        limits = []
        if self.max_tokens is not None:
            limits.append(f"{self.spent.tokens:,} of {self.max_tokens:,} tokens")
        if self.max_usd is not None:
            limits.append(f"{self.spent.usd:.4f} of {self.max_usd:.4f} US dollars")
        kind = f"quota of tier {self.tier}" if self.tier else "budget"
        return f"the {self.period}'s {kind} of {self.whose} ({', '.join(limits)})"

    @property
    def remedy(self) -> str:
        """Way to get more before the period ends."""
        if self.tier:
            return "ask an operator for another tier"
        return "raise it under Budgets in the admin"


class Budgets:
    """Budgets of all workspaces, for one process."""

    def __init__(
        self,
        pool: Pool,
        reservations: Reservations,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self.reservations = reservations
        self._terms = TTLCache(self._read, name="spending terms", clock=clock)
        self._tasks: set[asyncio.Task[None]] = set()

    def allowance(self, workspace_id: int, counted: RunScope, holder: str) -> RunAllowance:
        """Return the allowance of one run; ``holder`` is a name unique to the run."""
        return RunAllowance(self, workspace_id, counted, holder)

    async def ids(self, workspace_id: int, counted: RunScope) -> tuple[int, ...]:
        """Return the budgets that a run counts against, cached for ten seconds."""
        scopes = (await self.terms(workspace_id)).scopes
        by_person = [scope for scope in scopes if scope.concerns(counted)]
        if not any(scope.schedule for scope in by_person):
            return tuple(scope.id for scope in by_person)
        rows = await self._rows(_STARTED_BY, (counted.root_id,))
        started_by = rows[0]["started_by"] if rows else ""
        names = ("", started_by.removeprefix(BY_SCHEDULE))
        return tuple(scope.id for scope in by_person if scope.schedule in names)

    def has_none(self, workspace_id: int, counted: RunScope) -> bool:
        """Return True if it is known without a query that no budget counts a run."""
        known = self._terms.peek(workspace_id)
        return known is not None and not any(one.concerns(counted) for one in known.value.scopes)

    async def terms(self, workspace_id: int) -> SpendingTerms:
        """Return budgets and prices of a workspace, cached for ten seconds."""
        return await self._terms.get(workspace_id)

    async def limit_money(self, workspace_id: int, counted: RunScope) -> bool:
        """Return True if a budget that counts a run has a limit in US dollars."""
        terms = await self.terms(workspace_id)
        if not any(scope.limits_money for scope in terms.scopes):
            return False
        ids = await self.ids(workspace_id, counted)
        return any(scope.limits_money and scope.id in ids for scope in terms.scopes)

    async def _read(self, workspace_id: int) -> SpendingTerms:
        return read_terms(await self._rows(TERMS, (workspace_id,)))

    async def balances(self, budgets: tuple[int, ...]) -> list[Balance]:
        """Return the current balances of budgets."""
        rows = await self._rows(_LEFT, (list(budgets),))
        return [_balance(row) for row in rows]

    async def refused(self, budget: int) -> None:
        """Store that the budget has too little left for a call in its current period."""
        try:
            await self._rows(_REFUSED, (budget,))
        except psycopg.Error as error:
            logger.warning("the refusal by budget %s was not stored (%s)", budget, error)

    def soon(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run a coroutine in the background."""
        task = asyncio.create_task(work, name="budget")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _rows(self, query: str, parameters: tuple[object, ...]) -> list[DictRow]:
        async with self._pool.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()


class RunAllowance:
    """``Allowance`` of one run."""

    def __init__(self, budgets: Budgets, workspace_id: int, counted: RunScope, holder: str) -> None:
        self._budgets = budgets
        self._workspace_id = workspace_id
        self._counted = counted
        self._holder = holder
        self._ids: tuple[int, ...] = ()
        self._amount = Amount()
        self._dropping: asyncio.Task[None] | None = None

    def is_known_unlimited(self) -> bool:
        """See ``Allowance.is_free``."""
        return self._budgets.has_none(self._workspace_id, self._counted)

    async def has_budget(self) -> bool:
        """See ``Allowance.is_bounded``."""
        return bool(await self._budgets.ids(self._workspace_id, self._counted))

    async def reserve(self, least: Amount, most: Amount) -> Amount:
        """See ``Allowance.reserve``; waits briefly for others' reservations."""
        if self._dropping is not None:
            await asyncio.wait([self._dropping])  # else it would drop the new reservation
            self._dropping = None
        loop = asyncio.get_running_loop()
        patience = loop.time() + HOLD_SECONDS
        self._ids = await self._budgets.ids(self._workspace_id, self._counted)
        granted: Amount | None = None
        try:
            while (granted := await self._try(least, most)) is None:
                if loop.time() >= patience:
                    raise ThrottledError(
                        "The calls in flight have reserved what is left of a budget; this one "
                        f"waits {WAIT_SECONDS:g} seconds, or raise the budget.",
                        retry_after=WAIT_SECONDS,
                    )
                await asyncio.sleep(random.uniform(0.05, 0.25))  # noqa: S311  no secret
        finally:
            if granted is None:
                self.release()
        return granted

    async def _try(self, least: Amount, most: Amount) -> Amount | None:
        """Reserve the amount available; None: others have reserved it, and nothing is reserved.

        Raises:
            BudgetSpentError: Too little is left even without others' reservations.
            BudgetAsksError: An owner has to let runs go on.
        """
        others = await self._put(most)
        balances = await self._budgets.balances(self._ids)
        for balance in balances:
            if balance.asks:
                raise BudgetAsksError(
                    f"{str(balance).capitalize()} has reached {balance.ask_at} percent: may runs "
                    "go on until it is spent?",
                    balance.id,
                )
        left = most
        for balance in balances:
            left = left.at_most(balance.left(others.get(balance.id, Amount())))
        if left.covers(most):
            return most
        if left.covers(least):
            await self._put(left)
            return left
        await self._budgets.reservations.drop(self._ids, self._holder)
        for balance in balances:
            if not balance.left(Amount()).covers(least):
                await self._budgets.refused(balance.id)
                raise BudgetSpentError(
                    f"Stopped because {balance} has too little left for another model call: "
                    f"{balance.remedy}, or wait for the next {balance.period}."
                )
        return None

    async def keep(self) -> None:
        """See ``Allowance.keep``."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await self._put(self._amount)

    async def _put(self, amount: Amount) -> dict[int, Amount]:
        self._amount = amount
        return await self._budgets.reservations.put(
            self._ids, self._holder, amount, seconds=RESERVE_SECONDS
        )

    def release(self) -> None:
        """See ``Allowance.release``."""
        if self._ids:
            dropping = self._budgets.reservations.drop(self._ids, self._holder)
            self._dropping = self._budgets.soon(dropping)
            self._ids = ()


def _balance(row: DictRow) -> Balance:
    return Balance(
        id=row["id"],
        whose=describe_scope(row["agent"], row["person"], row["schedule"])
        or f"workspace {row['workspace']}",
        period=row["period"],
        max_tokens=row["max_tokens"],
        max_usd=row["max_usd"],
        spent=Amount(row["tokens"], row["usd"]),
        tier=row["tier"],
        ask_at=row["ask_at"],
    )
