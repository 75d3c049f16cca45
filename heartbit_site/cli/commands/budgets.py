"""`heartbit budgets`: limits on what a workspace, or a part of its runs, spends."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.options import common
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import budgets as contract


def _tokens(one: contract.BudgetOut) -> str:
    return f"{one.tokens.used:,} of {one.tokens.limit:,}" if one.tokens else "-"


def _usd(one: contract.BudgetOut) -> str:
    return f"${one.usd.used} of ${one.usd.limit}" if one.usd else "-"


def _state(one: contract.BudgetOut) -> str:
    states = {gauge.state for gauge in (one.tokens, one.usd) if gauge is not None}
    return next((state for state in ("exceeded", "warning") if state in states), "ok")


TABLE: Final = Table.of(
    contract.BudgetOut,
    "BUDGET=id RUNS PERIOD TOKENS USD WARN ASK STATE _=from_tier",
    styles={"exceeded": "red", "warning": "yellow", "ok": "green"},
    none="No budgets yet: `heartbit budgets add --max-usd 50` sets one.",
    RUNS=lambda one: one.whose or "all of the workspace",
    TOKENS=_tokens,
    USD=_usd,
    WARN=lambda one: f"at {one.warn_at}%",
    ASK=lambda one: f"at {one.ask_at}%" if one.ask_at else "-",
    STATE=_state,
)


def _show(one: contract.BudgetOut) -> None:
    TABLE.print([one])


app = common.group()
BUDGETS: Final = Verbs(app, "budget", contract.LIST_BUDGETS, TABLE)
AGENT: Final = common.option("--agent -a NAME", "Limit only this agent's runs.", None)
PERSON: Final = common.option("--person NAME", "Limit only this person's runs.", None)
SCHEDULE: Final = common.option("--schedule NAME", "Limit only this schedule's runs.", None)

BUDGETS.list("List the budgets with their usage, the tier's included.")
BUDGETS.do(
    "add",
    contract.CREATE_BUDGET,
    "Set a budget: a model call that would begin above it is refused until the next period.",
    show=_show,
    agent=AGENT,
    person=PERSON,
    schedule=SCHEDULE,
)
BUDGETS.do(
    "change",
    contract.CHANGE_BUDGET,
    "Change what is named of a budget, also for the current period.",
    show=_show,
)
BUDGETS.remove(
    contract.REMOVE_BUDGET, "End a budget.", stays="what was spent stays in `heartbit usage`"
)
