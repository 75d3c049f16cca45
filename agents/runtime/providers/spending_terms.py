"""Terms of spending of a workspace: its budgets, prices, and the rule without a price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from agents.llm import pricing
from agents.llm.messages import Usage
from agents.llm.pricing import ModelRate
from agents.loop.ports import UnpricedModel

if TYPE_CHECKING:
    from psycopg.rows import DictRow

TERMS: Final = """
    SELECT w.unknown_prices,
           (SELECT jsonb_agg(jsonb_build_array(
                b.id, b.agent_id, b.person_id, b.schedule, b.max_usd IS NOT NULL, d.id)
                ORDER BY b.id)
            FROM agents_budget b LEFT JOIN agents_agent a ON a.id = b.agent_id
            LEFT JOIN agents_agent d ON d.workspace_id = a.workspace_id AND d.origin = 'draft'
                                        AND d.name = a.name AND a.origin = ''
            WHERE b.workspace_id = w.id) AS scopes,
           (SELECT jsonb_object_agg(p.model, jsonb_build_array(
                p.input_usd::text, p.output_usd::text, p.cached_input_usd::text))
            FROM agents_modelprice p WHERE p.workspace_id = w.id) AS rates
    FROM base_workspace w WHERE w.id = %s
"""
_ONE_TOKEN: Final = Usage(input_tokens=1, output_tokens=1)


@dataclass(frozen=True, slots=True)
class RunScope:
    """Facts about a run that decide which budgets count it.

    Attributes:
        agent_id: Agent of the run.
        user_id: Person who started its tree; None: no person did.
        root_id: Root of its tree.
    """

    agent_id: int
    user_id: int | None = None
    root_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class BudgetScope:
    """Whose runs a budget counts, as ``heartbit_counts`` decides it.

    Attributes:
        limits_money: True if the budget has a limit in US dollars.
        draft_id: Row of the agent's draft, whose tests count as its runs; None: there is none.
    """

    id: int
    agent_id: int | None
    person_id: int | None
    schedule: str
    limits_money: bool
    draft_id: int | None = None

    def concerns(self, counted: RunScope) -> bool:
        """Return False if another agent's or another person's runs are counted."""
        is_agents = self.agent_id is None or counted.agent_id in (self.agent_id, self.draft_id)
        return is_agents and self.person_id in (None, counted.user_id)


@dataclass(frozen=True, slots=True)
class SpendingTerms:
    """Budgets and prices of a workspace, as read some seconds ago.

    Attributes:
        scopes: Whose runs its budgets count.
        rates: Prices that it has set, by ``provider:model``.
        unknown_prices: Handling of runs under a limit in US dollars whose model has no known
            price: ``ask`` or ``refuse``.
    """

    scopes: tuple[BudgetScope, ...] = ()
    rates: Mapping[str, ModelRate] | None = None
    unknown_prices: str = "ask"

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """Return the price of one call, by the workspace's own price or the published one."""
        rate = (self.rates or {}).get(model)
        return pricing.cost(model, usage) if rate is None else rate.cost(usage)

    def knows_price(self, model: str) -> bool:
        """Return True if the price of a model is known."""
        return self.cost(model, _ONE_TOKEN) is not None


def read_terms(rows: list[DictRow]) -> SpendingTerms:
    """Return the terms in the rows of ``TERMS``."""
    if not rows:
        return SpendingTerms()
    row = rows[0]
    return SpendingTerms(
        tuple(BudgetScope(*scope) for scope in row["scopes"] or ()),
        {model: _rate(texts) for model, texts in (row["rates"] or {}).items()},
        row["unknown_prices"],
    )


def _rate(texts: list[Any]) -> ModelRate:
    return ModelRate(*(None if text is None else Decimal(text) for text in texts))  # type: ignore[arg-type]


def unpriced_model(model: str, limited: str, terms: SpendingTerms) -> UnpricedModel | None:
    """Return what keeps a run from calling its model, or None.

    Args:
        model: ``provider:model`` that the run calls.
        limited: Limit in US dollars that applies, in words; empty: none.
        terms: Prices of the workspace.
    """
    if not limited or terms.knows_price(model):
        return None
    text = f"The price of {model} is unknown, so {limited} cannot limit it"
    if terms.unknown_prices == "ask":
        return UnpricedModel(f"{text}: may this run go on?", asks=True)
    set_price = "set it under Model prices in the admin, or by `heartbit prices set`"
    return UnpricedModel(f"{text}: {set_price}.", asks=False)
