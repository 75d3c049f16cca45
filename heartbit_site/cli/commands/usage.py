"""`heartbit usage`."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from agents.reads import views
from heartbit_site.base.amounts import counted
from heartbit_site.cli.backend.chosen import call
from heartbit_site.cli.terminal.output import NAME_WIDTH, one_line, write
from heartbit_site.cli.terminal.table import Table, print_view
from heartbit_site.contract.usage import SHOW_USAGE


def usage() -> int:
    """Show usage and limits of today and this month."""
    found = call(SHOW_USAGE, reads_only=True)
    return print_view(found, lambda: _print(found))


def _print(found: views.WorkspaceUsageOut) -> None:
    write(f"Tier: {one_line(found.tier or 'none')}, {found.queued} runs queued")
    write("")
    gauges = [
        _gauge("runs today", found.runs_today),
        _gauge("tokens this month", found.tokens_this_month),
        _gauge("cost this month", found.usd_this_month, "$"),
        _gauge("runs at once", found.runs_at_once),
        *(gauge for budget in found.budgets for gauge in _gauges_of(budget)),
    ]
    GAUGES.print(gauges)
    if found.agents:
        write("")
        AGENTS.print(found.agents)
    write(f"\nMemories without use are kept {_days(found.memory_days)}.")
    if found.unpriced_calls:
        write(f"\nOf {found.unpriced_calls} model calls of this month the price is not known.")


def _gauges_of(budget: views.BudgetUseOut) -> Iterator[tuple[str, ...]]:
    whose = f"{one_line(budget.whose, NAME_WIDTH)}, " if budget.whose else ""
    if budget.tokens is not None:
        yield _gauge(f"budget: {whose}tokens a {budget.period}", budget.tokens)
    if budget.usd is not None:
        yield _gauge(f"budget: {whose}cost a {budget.period}", budget.usd, "$")


def _gauge(
    name: str, gauge: views.CountGaugeOut | views.MoneyGaugeOut, unit: str = ""
) -> tuple[str, ...]:
    limit = "-" if gauge.limit is None else _amount(gauge.limit, unit)
    percent = "" if gauge.percent is None else f" ({gauge.percent} %)"
    return (name, f"{_amount(gauge.used, unit)}{percent}", limit, gauge.state)


def _days(days: int | None) -> str:
    return "for ever" if days is None else counted(days, "day")


def _amount(value: int | str, unit: str) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{unit}{value}"


GAUGES: Final = Table[tuple[str, ...]](
    {title: itemgetter(place) for place, title in enumerate(("WHAT", "USED", "LIMIT", "STATE"))},
    {"warning": "yellow", "exceeded": "red"},
)
AGENTS: Final = Table.of(
    views.AgentUseOut,
    "AGENT RUNS=runs:, TOKENS=tokens:, COST",
    AGENT=lambda row: one_line(row.agent or "(deleted runs)", NAME_WIDTH),
    COST=lambda row: f"${row.cost_usd}",
)
