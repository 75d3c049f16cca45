"""`heartbit usage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agents.reads.usage_view import AgentUseOut
from heartbit_site.cli.errors import OK
from heartbit_site.cli.groups import command
from heartbit_site.cli.invocation import as_json, backend
from heartbit_site.cli.output import one_line, write, write_view
from heartbit_site.cli.shared_options import RemoteCommand
from heartbit_site.cli.table import Lines, Table
from heartbit_site.contract.usage import SHOW_USAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.reads.usage_view import BudgetUseOut, CountGaugeOut, MoneyGaugeOut

GAUGES: Final = ("WHAT", "USED", "LIMIT", "STATE")
STYLES: Final = {"warning": "yellow", "exceeded": "red"}
AGENT_WIDTH: Final = 40

app = command()


@app.command(cls=RemoteCommand)
def usage() -> int:
    """Show what was used today and this month, and what may be."""
    found = backend().call(SHOW_USAGE)
    if as_json():
        write_view(found)
        return OK
    write(f"Tier: {one_line(found.tier or 'none')}, {found.queued} runs queued")
    write("")
    gauges = [
        _gauge("runs today", found.runs_today),
        _gauge("tokens this month", found.tokens_this_month),
        _gauge("cost this month", found.usd_this_month, "$"),
        _gauge("runs at once", found.runs_at_once),
        *(gauge for budget in found.budgets for gauge in _gauges_of(budget)),
    ]
    Lines(GAUGES, gauges, STYLES).print()
    if found.agents:
        write("")
        AGENTS.of(found.agents).print()
    if found.unpriced_calls:
        write(f"\nOf {found.unpriced_calls} model calls of this month the price is not known.")
    return OK


def _gauges_of(budget: BudgetUseOut) -> Iterator[tuple[str, ...]]:
    whose = f"{one_line(budget.agent, AGENT_WIDTH)}, " if budget.agent else ""
    if budget.tokens is not None:
        yield _gauge(f"budget: {whose}tokens a {budget.period}", budget.tokens)
    if budget.usd is not None:
        yield _gauge(f"budget: {whose}cost a {budget.period}", budget.usd, "$")


def _gauge(name: str, gauge: CountGaugeOut | MoneyGaugeOut, unit: str = "") -> tuple[str, ...]:
    limit = "-" if gauge.limit is None else _amount(gauge.limit, unit)
    percent = "" if gauge.percent is None else f" ({gauge.percent} %)"
    return (name, f"{_amount(gauge.used, unit)}{percent}", limit, gauge.state)


def _amount(value: int | str, unit: str) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{unit}{value}"


AGENTS: Final = Table[AgentUseOut](
    {
        "AGENT": lambda row: one_line(row.agent or "(deleted runs)", AGENT_WIDTH),
        "RUNS": lambda row: f"{row.runs:,}",
        "TOKENS": lambda row: f"{row.tokens:,}",
        "COST": lambda row: f"${row.cost_usd}",
    }
)
