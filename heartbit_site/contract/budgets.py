"""Budgets: limits on what the workspace, or a part of its runs, spends in a day or a month."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agents.definitions.setting_types import Money
from agents.reads.views import BudgetUseOut
from heartbit_site.contract.model import Body, Name, Page, changes
from heartbit_site.contract.operation import READ_RUNS, WRITE_AGENTS, Noun

Percent = Annotated[int, Field(ge=1, le=100)]


class BudgetOut(BudgetUseOut):
    """A budget, and what was spent of it in this period."""

    id: int = Field(validation_alias="pk")
    warn_at: int = Field(description="Percentage of a limit that triggers a warning.")
    ask_at: int | None = Field(
        description="Percentage of a limit at which runs wait for an owner; null: never."
    )
    from_tier: bool = Field(description="True for the limit of the tier, which an operator sets.")


class BudgetsOut(Page):
    """The workspace's budgets, the oldest first."""

    budgets: list[BudgetOut]


class BudgetIn(Body):
    """A budget to set; it limits tokens, US dollars, or both."""

    agent: Name = Field("", description="Agent whose runs count; empty: all of the workspace.")
    person: Name = Field("", description="Person whose runs count; empty: everyone's.")
    schedule: Name = Field("", description="Schedule whose runs count; empty: all runs.")
    period: Literal["day", "month"] = Field(
        "month", description="Period, which begins at midnight UTC."
    )
    max_tokens: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = Field(
        None, description="Tokens of a period, read and written; null: no limit."
    )
    max_usd: Money | None = Field(
        None,
        description="US dollars of a period, as a decimal number in text; null: no limit.",
    )
    warn_at: Percent = Field(80, description="Percentage of a limit that triggers a warning.")
    ask_at: Percent | None = Field(
        None,
        description="Percentage of a limit at which runs wait until an owner lets them go on, once "
        "per period; null: never.",
    )


@changes("agent", "person", "schedule", "period", null=False)
class BudgetChangeIn(BudgetIn):
    """Limits to change; a limit that is left out stays, and null ends it."""


NOUN = Noun("budgets", read=READ_RUNS, write=WRITE_AGENTS)

LIST_BUDGETS = NOUN.get("list_budgets", "/budgets", BudgetsOut, command="`heartbit budgets list`")
CREATE_BUDGET = NOUN.post(
    "create_budget", "/budgets", BudgetOut, body=BudgetIn, status=201, errors=(409,)
)
CHANGE_BUDGET = NOUN.patch(
    "change_budget", "/budgets/{budget_id}", BudgetOut, body=BudgetChangeIn, errors=(409,)
)
REMOVE_BUDGET = NOUN.delete("remove_budget", "/budgets/{budget_id}", errors=(409,))
